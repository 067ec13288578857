"""The rows of OWASP ASVS 5.0 that we follow, each with its evidence.

A row has its number, its level, its requirement in a few words, and its evidence: tests as `file::name` below tests/, or
documents by path. A deviation has no test: it is a row of docs/security/deviations.md.
"""

import re

from tests.security.documents import ROOT, rows

DEVIATION = "docs/security/deviations.md"
Row = tuple[str, str, str, tuple[str, ...]]
REQ, ADDR = "security/test_requirements.py::", "security/test_every_address.py::"
ATTACK, SWAP = "security/test_attacks.py::", "orders/test_one_condition.py::"
ROWS: list[Row] = [
    ("1.2.1", "1", "output is escaped", ("test_conventions.py::test_nothing_is_marked_safe_in_code", "catalogue/test_unusual.py::test_code_in_a_text_field_is_shown_as_text_on_every_page")),
    ("1.2.2", "1", "addresses are built safely", ("carrier/test_booking.py::test_an_id_cannot_change_the_rest_of_the_path", "carrier/test_booking.py::test_an_unsafe_tracking_url_is_dropped")),
    ("1.2.4", "1", "queries take parameters", (REQ + "test_no_sql_is_put_together_from_values", "catalogue/test_admin.py::test_a_lookup_through_the_password_is_refused")),
    ("1.2.10", "3", "no formula in an export", ("staff/test_audit.py::test_no_cell_of_the_file_is_a_formula", "pages/test_imports.py::test_the_file_of_failed_rows_has_no_formulas")),
    ("1.3.6", "2", "no request to a chosen host", ("carrier/test_labels.py::test_a_url_that_is_not_the_carriers_is_never_opened", "catalogue/test_carrier_labels.py::test_a_labels_redirect_away_from_the_carrier_is_not_followed")),
    ("1.3.12", "3", "regular expressions take linear time", (REQ + "test_no_regular_expression_is_slower_than_linear_for_any_text", ATTACK + "test_no_form_takes_long_whatever_pairs_of_text_its_fields_contain")),
    ("1.5.2", "2", "nothing unsafe is deserialized", ("test_conventions.py::test_nothing_is_unpickled", REQ + "test_an_installation_is_secure_by_default", "accounts/test_json_cache.py::test_a_pickle_in_the_table_is_not_loaded")),
    ("2.1.1, 2.1.2, 2.1.3", "1, 2", "rules of input are documented", ("docs/security/validation.md",)),
    ("2.2.1, 2.2.2, 2.2.3", "1, 2", "input is checked on the server", ("catalogue/test_forms.py::test_a_bad_value_for_a_domestic_parcel_is_refused", "catalogue/test_rows.py::test_every_row_has_a_test_or_a_reason")),
    ("2.3.1", "1", "steps only in their order", (REQ + "test_no_step_can_be_done_before_the_one_it_needs", "pages/test_cancel.py::test_an_order_that_is_not_booked_is_not_cancelled")),
    ("2.3.2", "2", "business limits, at n and n + 1", (REQ + "test_the_limits_are_the_agreed_ones", "orders/test_limits.py::test_one_order_too_many_is_refused_with_an_explanation_and_nothing_is_queued", "catalogue/test_import_files.py::test_two_thousand_rows_are_read")),
    ("2.3.3, 2.3.4", "2", "constraints and one transaction", ("orders/test_constraints.py::test_an_order_has_one_live_attempt", "orders/test_constraints.py::test_a_form_makes_one_order", "test_races.py::test_fifty_presses_of_one_button_make_one_order")),
    ("2.3.5", "3", "two people for high-value actions", (DEVIATION,)),
    ("2.4.1", "2", "limits against automation", ("test_limit_races.py::test_fifty_requests_for_prices_with_room_for_five_send_exactly_five", "pages/test_imports.py::test_a_file_beyond_the_hourly_limit_is_refused_and_accepted_the_next_hour", REQ + "test_an_installation_is_secure_by_default", "test_limit_races.py::test_twenty_of_thirty_simultaneous_invitations_are_sent")),
    ("3.2.1", "1", "files are not treated as pages", ("pages/test_labels.py::test_a_label_is_never_cached_framed_or_sniffed", "staff/test_audit.py::test_the_file_is_a_download_that_is_never_cached")),
    ("3.3.1, 3.3.3", "1, 2", "cookies: Secure, __Host-", (REQ + "test_an_installation_is_secure_by_default",)),
    ("3.3.2, 3.3.4", "2", "cookies: SameSite, HttpOnly", (REQ + "test_every_cookie_is_only_for_our_host",)),
    ("3.4.1", "1", "HSTS for a year, everywhere", (ADDR + "test_every_response_has_its_type_and_its_security_headers", REQ + "test_an_installation_is_secure_by_default")),
    ("3.4.3, 3.4.6, 3.4.7", "2, 3", "a content policy, with reports; only labels are framed", (ADDR + "test_every_response_has_its_type_and_its_security_headers", "pages/test_headers.py::test_a_csp_report_is_one_line_without_the_queries_of_its_addresses", DEVIATION, "security/test_static_files.py::test_a_static_file_has_the_policy_of_every_response")),
    ("3.4.4", "2", "nosniff everywhere", (ADDR + "test_every_response_has_its_type_and_its_security_headers",)),
    ("3.4.5", "2", "no referrers to other sites", (ADDR + "test_every_response_has_its_type_and_its_security_headers", "test_canaries.py::test_the_link_is_shown_to_its_owner_and_that_is_audited")),
    ("3.4.8", "3", "other sites' windows are isolated", (ADDR + "test_every_response_has_its_type_and_its_security_headers",)),
    ("3.5.1, 3.5.3", "1", "forged requests change nothing", (ADDR + "test_a_post_that_no_form_of_ours_made_changes_nothing", "pages/test_prices.py::test_a_stranger_gets_404_and_a_get_books_nothing")),
    ("3.5.8", "3", "other sites can't load private content", ("pages/test_headers.py::test_no_other_site_can_open_a_label_or_a_signed_link", ADDR + "test_every_response_has_its_type_and_its_security_headers")),
    ("3.7.2", "2", "redirects lead to allowed hosts only", ("catalogue/test_requests.py::test_the_next_page_is_never_on_another_site", "catalogue/test_requests.py::test_the_admins_login_redirects_nowhere_else", "carrier/test_links.py::test_a_link_to_any_other_host_is_refused")),
    ("4.1.1", "1", "a type and charset on each response", (ADDR + "test_every_response_has_its_type_and_its_security_headers",)),
    ("4.1.2", "2", "webhooks over http are refused", ("catalogue/test_webhook.py::test_a_request_over_plain_http_is_refused_and_counted",)),
    ("4.1.3, 15.3.4", "2", "a client cannot choose its address", ("accounts/test_signing_up.py::test_a_client_cannot_dodge_the_throttle_by_naming_another_address", "pages/test_headers.py::test_a_response_has_an_id_and_the_proxys_only_if_the_proxy_is_trusted")),
    ("4.1.4", "3", "unexpected methods are refused", (ADDR + "test_an_unused_method_is_not_allowed_anywhere",)),
    ("4.2.1", "2", "requests can't be read two ways", ("catalogue/test_sockets.py::test_a_malformed_request_is_refused_by_the_server", "catalogue/test_listener.py::test_a_body_with_a_false_length_is_never_stored_in_part")),
    ("5.1.1, 5.2.1, 5.2.2", "1, 2", "files: size, type and content", ("docs/security/validation.md", "catalogue/test_import_files.py::test_a_file_that_cannot_be_imported_is_refused_with_a_reason", "catalogue/test_requests.py::test_a_body_that_no_form_sends_is_refused_unread", ATTACK + "test_no_workbook_takes_long", ATTACK + "test_no_file_of_lines_takes_long")),
    ("5.2.4", "3", "number and size of files", ("pages/test_imports.py::test_a_file_beyond_the_hourly_limit_is_refused_and_accepted_the_next_hour", "catalogue/test_carrier_labels.py::test_a_bad_label_is_tried_again_then_a_case_and_finally_fetched", "staff/test_alerts.py::test_a_label_store_over_its_quota_alerts", ATTACK + "test_no_workbook_takes_long")),
    ("5.3.2", "1", "no path comes from a user", ("catalogue/test_import_files.py::test_a_files_name_is_shown_without_its_path", REQ + "test_none_of_our_files_are_served")),
    ("5.4.1, 5.4.2", "2", "file names are ours", ("pages/test_labels.py::test_a_download_is_an_attachment_of_the_same_bytes",)),
    ("6.1.1, 6.3.1", "1", "guessing is limited", ("accounts/test_guessing.py::test_guessing_from_many_addresses_is_stopped", "accounts/test_guessing.py::test_a_browser_that_was_logged_in_before_gets_through", "docs/security/validation.md", DEVIATION)),
    ("6.2.1, 6.2.9", "1, 2", "passwords: 12 characters (operators 15), 64 and more", ("accounts/test_passwords.py::test_an_operator_needs_fifteen_characters", REQ + "test_a_long_password_counts_to_its_last_character")),
    ("6.2.4, 6.2.11, 6.2.12", "1, 2", "no common, obvious or stolen password", ("accounts/test_passwords.py::test_digits_repeated_letters_and_disguised_words_are_refused", "accounts/test_passwords.py::test_exactly_the_stolen_passwords_are_refused", "accounts/test_passwords.py::test_words_of_the_portal_the_person_and_the_business_are_refused_however_they_are_written")),
    ("6.2.5", "1", "no composition rules", ("accounts/test_passwords.py::test_a_few_unrelated_words_are_accepted", REQ + "test_a_long_password_counts_to_its_last_character")),
    ("6.2.3, 6.2.7, 6.2.8", "1", "the old password first; pasting; no truncation", ("accounts/test_security_events.py::test_changing_how_you_log_in_needs_the_password_again", REQ + "test_a_long_password_counts_to_its_last_character")),
    ("6.3.2", "1", "no default accounts", ("test_checks.py::test_demo_users_are_refused_outside_the_demo", "accounts/test_signing_up.py::test_demo_users_cannot_log_in_outside_the_demo")),
    ("6.3.3", "2", "a second factor for everybody", (DEVIATION, "accounts/test_second_factor.py::test_an_operator_without_a_second_factor_is_sent_to_set_one_up")),
    ("6.3.8", "3", "nothing reveals who has an account", (REQ + "test_an_unknown_login_takes_as_much_work_as_a_wrong_password", "accounts/test_signing_up.py::test_a_known_address_takes_as_long_to_sign_up_as_a_new_one")),
    ("6.4.1, 6.4.3", "1, 2", "password resets: once, within an hour, not past the second factor", ("accounts/test_signing_up.py::test_a_link_to_set_a_new_password_works_for_an_hour", "accounts/test_second_factor.py::test_a_new_password_does_not_bypass_the_second_factor")),
    ("6.5.1, 6.5.3, 6.5.5, 6.6.3", "2", "codes: once, 30 seconds, five tries", ("accounts/test_second_factor.py::test_a_code_works_once", "catalogue/test_accounts.py::test_a_code_for_another_time_or_of_another_length_is_refused", "accounts/test_encryption.py::test_no_seed_is_readable_in_the_database")),
    ("7.1.1, 7.3.1, 7.3.2", "2", "logins expire", (DEVIATION, "security/test_documents.py::test_the_deviations_state_the_real_session_lengths")),
    ("7.2.3, 7.2.4", "1", "session keys: random, new at each login", ("accounts/test_sessions_page.py::test_a_visitor_has_no_row_and_gets_a_new_key_at_login",)),
    ("7.4.1, 7.4.2, 7.4.3", "1, 2", "logout, a new password and a closed login end all sessions", ("accounts/test_second_factor.py::test_a_session_ends_with_the_password_and_with_the_login", "catalogue/test_accounts.py::test_a_copied_cookie_stops_working_when_the_session_ends", "accounts/test_half_logged_in.py::test_a_login_started_before_a_password_change_ends_with_it")),
    ("7.4.5, 7.5.2", "2", "sessions are listed, and ended by their user or an operator", ("accounts/test_sessions_page.py::test_each_session_is_listed_and_can_be_ended", "staff/test_acts.py::test_a_person_is_logged_out_everywhere_and_nobody_else_is")),
    ("7.5.1", "2", "the password again before a change", ("accounts/test_security_events.py::test_changing_how_you_log_in_needs_the_password_again", "accounts/test_sensitive_acts.py::test_after_fifty_minutes_an_action_needs_the_password_first")),
    ("8.1.1, 8.1.2", "1, 2", "permissions are documented", ("docs/security/access.md", "test_access.py::test_every_page_is_only_for_the_roles_in_the_matrix")),
    ("8.2.1, 8.2.2, 8.2.3", "1, 2", "pages, objects and fields", ("test_access.py::test_a_role_gets_404_for_pages_not_meant_for_it", "test_access.py::test_a_stranger_gets_404_for_alices_objects", "catalogue/test_admin.py::test_read_only_fields_in_a_post_change_nothing", "security/test_masked_columns.py::test_no_list_is_filtered_by_a_personal_or_secret_column", "staff/test_masked_searches.py::test_no_part_of_an_email_or_a_phone_finds_its_parcel")),
    ("8.3.1, 8.3.2", "1, 3", "checked on the server, at once", ("accounts/test_team.py::test_a_removed_member_is_logged_out_at_once", "catalogue/test_turned_off.py::test_an_account_turned_off_is_logged_out_and_books_nothing", DEVIATION, "security/test_controls.py::test_a_control_closes_every_way_out")),
    ("8.4.1", "2", "senders are separated", ("test_access.py::test_a_stranger_gets_404_for_alices_objects", "tracking/test_exports.py::test_an_accounts_export_has_all_its_data_and_nothing_of_others")),
    ("9.1.2, 9.2.1, 9.2.4", "1, 2", "signed links: one algorithm, short-lived, for one host", ("carrier/test_links.py::test_a_link_signed_here_is_for_the_sender_and_expires_in_15_minutes",)),
    ("10.1.1, 10.2.3", "2, 3", "sign-on: tokens are kept nowhere, no scope too many", ("sign_on/test_signing_on.py::test_only_a_digest_of_the_issuers_reply_is_kept", "sign_on/test_there_and_back.py::test_our_own_second_factor_is_kept", "sign_on/test_there_and_back.py::test_the_request_carries_state_nonce_and_a_challenge")),
    ("10.1.2, 10.2.1", "2", "sign-on: an answer belongs to the browser that asked", ("sign_on/test_there_and_back.py::test_a_reply_in_another_browser_is_refused", "sign_on/test_there_and_back.py::test_another_state_is_refused", "sign_on/test_there_and_back.py::test_a_code_for_another_challenge_is_refused", "sign_on/test_there_and_back.py::test_a_reply_works_once")),
    ("10.5.1, 10.5.2, 10.5.3, 10.5.4", "2", "sign-on: nonce, subject, issuer and audience of the ID token", ("sign_on/test_there_and_back.py::test_another_nonce_is_refused", "sign_on/test_signing_on.py::test_the_same_subject_at_another_issuer_is_somebody_else", "sign_on/test_tokens.py::test_any_other_token_is_refused", "sign_on/test_tokens.py::test_a_discovery_document_of_another_issuer_is_not_used")),
    ("11.4.2, 11.5.1", "2", "hashing and randomness", (REQ + "test_every_secret_has_enough_random_bits", "test_checks.py::test_each_problem_is_named")),
    ("12.2.1, 12.3.1, 12.3.2", "1, 2", "TLS, with certificates checked", ("catalogue/test_tls.py::test_no_booking_is_sent_to_an_untrusted_certificate", "carrier/test_way_out.py::test_a_certificate_from_another_authority_is_not_trusted", "test_checks.py::test_each_problem_is_named")),
    ("13.1.1, 13.1.3", "2, 3", "connections are documented", ("docs/security/connections.md",)),
    ("13.2.2, 13.2.3", "2", "least rights, no default secrets", ("deploy/test_compose.py::test_no_container_has_more_than_it_needs", "deploy/test_compose.py::test_secrets_go_only_to_services_that_need_them", "test_checks.py::test_each_problem_is_named", "test_database_roles.py::test_the_portals_role_is_refused", "docs/database.md")),
    ("13.2.4, 13.2.5", "2", "one way out, to listed hosts", ("test_conventions.py::test_only_the_carrier_package_speaks_http", "carrier/test_outcomes.py::test_proxies_in_the_environment_are_ignored")),
    ("13.3.1", "2", "secrets in the environment only", ("test_logs.py::test_secrets_links_and_addresses_never_reach_a_line", "test_canaries.py::test_the_link_and_the_secrets_appear_nowhere_else")),
    ("13.4.1-13.4.5", "1, 2", "only the portal is served", (REQ + "test_none_of_our_files_are_served", ADDR + "test_an_unused_method_is_not_allowed_anywhere", REQ + "test_an_installation_is_secure_by_default")),
    ("14.1.1, 14.2.4, 14.2.7", "2, 3", "personal data: classes and retention periods", ("staff/test_retention.py::test_unused_import_files_are_deleted_with_their_rows", "docs/security/data.md", "staff/test_retention.py::test_bodies_of_webhooks_and_scans_are_deleted_and_their_values_stay", "security/test_documents.py::test_every_column_is_exactly_one_of_personal_secret_money_or_technical", "processes/test_database_log.py::test_the_log_has_no_canary_after_races_constraint_errors_and_timeouts", "staff/test_erasing.py::test_a_person_named_in_a_file_name_a_note_or_an_unknown_scan_is_erased")),
    ("14.2.1", "1", "no secret in an address", (DEVIATION, "test_logs.py::test_a_request_to_a_webhook_url_logs_no_token", "security/test_logs_hold_nobody.py::test_the_web_servers_line_has_only_the_path")),
    ("14.2.6", "3", "people are masked in the admin", ("staff/test_reading_only.py::test_an_attempts_request_is_shown_with_its_people_masked", "staff/test_revealing.py::test_without_a_reason_nothing_is_shown", "security/test_masked_columns.py::test_the_url_of_such_a_filter_is_refused", "staff/test_masked_searches.py::test_no_list_finds_part_of_a_value_it_masks", "staff/test_masked_searches.py::test_a_full_value_finds_it_and_writes_an_audit_row_without_names")),
    ("14.3.2, 14.3.3", "2", "nothing stays in a browser", (ADDR + "test_nothing_behind_the_login_is_cached_by_a_browser_or_a_proxy",)),
    ("15.1.2, 15.2.1, 15.2.4", "1, 2, 3", "components are known and locked", ("docs/security/sbom.json", "security/test_documents.py::test_the_bill_of_materials_names_every_package_of_the_lock", REQ + "test_the_image_installs_only_what_is_in_the_lock_file")),
    ("15.2.2, 15.1.3", "2", "slow work delays nobody else", ("test_limit_races.py::test_fifty_requests_for_prices_with_room_for_five_send_exactly_five", "accounts/test_outbox.py::test_a_silent_mail_server_is_not_waited_for_long", "pages/test_waiting.py::test_a_third_page_of_one_person_is_refused_and_another_person_is_not", "pages/test_waiting.py::test_a_quarter_of_the_threads_may_wait", ATTACK + "test_no_senders_form_takes_long_whatever_its_fields_contain", ATTACK + "test_no_request_from_a_script_takes_long", "processes/test_hostile_text.py::test_the_web_server_is_alive_while_sixty_four_hostile_texts_are_pasted")),
    ("15.2.3", "2", "no test code in production", ("deploy/test_compose.py::test_the_image_has_no_sandbox_carrier_and_states_its_version", "test_checks.py::test_the_demo_is_refused_at_an_address_for_people_by_every_command")),
    ("15.3.2, 15.3.3, 15.3.7", "2", "no redirect followed, no extra field or value", ("carrier/test_outcomes.py::test_a_redirect_is_not_followed", "catalogue/test_booking_form.py::test_extra_fields_in_the_post_change_nothing", "pages/test_prices.py::test_a_choice_sent_twice_is_refused")),
    ("15.4.2, 15.4.3", "3", "no race after a check, no deadlock", ("test_limit_races.py::test_fifty_simultaneous_presses_with_room_for_two_book_exactly_two", "test_limit_races.py::test_simultaneous_bookings_replies_cancellations_and_a_bill_never_deadlock", "test_limit_races.py::test_twenty_of_thirty_simultaneous_invitations_are_sent", SWAP + "test_an_order_whose_status_changed_stays_as_it_is", "billing/test_one_condition.py::test_a_report_in_another_state_stays_as_it_is")),
    ("16.1.1, 16.2", "2", "logging is documented and uniform", ("docs/security/logs.md", "test_logs.py::test_a_line_is_one_json_object_with_its_time_level_and_logger", "test_tracing.py::test_the_id_of_the_request_is_on_the_order_and_in_the_workers_lines")),
    ("16.2.5, 16.4.1", "2", "no secret and no forged line in a log", ("test_logs.py::test_secrets_links_and_addresses_never_reach_a_line", "test_logs.py::test_a_traceback_is_scrubbed_and_stays_on_its_line", "catalogue/test_webhook_parcels.py::test_an_events_text_stays_on_one_line_of_the_log", "security/test_logs_hold_nobody.py::test_no_page_logs_what_was_sent_to_it", "processes/test_database_log.py::test_the_log_has_no_canary_after_races_constraint_errors_and_timeouts", "processes/test_logs_hold_nobody.py::test_no_log_of_a_whole_site_has_a_canary")),
    ("16.3.1-16.3.4", "2", "security events", ("accounts/test_security_events.py::test_a_failure_names_the_account_or_the_hash_of_an_address", "staff/test_groups.py::test_a_refusal_is_logged_with_who_and_what", REQ + "test_bypassing_the_forms_writes_one_log_line", "carrier/test_way_out.py::test_the_log_says_why_nothing_was_sent")),
    ("16.4.2", "2", "logs cannot be changed", (DEVIATION, "accounts/test_audit_trigger.py::test_rows_are_neither_changed_nor_deleted")),
    ("16.5.1-16.5.4", "2, 3", "failures reveal nothing and fail closed", ("pages/test_headers.py::test_the_error_page_has_the_id_to_quote", "processes/test_database_away.py::test_while_the_database_is_down_every_page_is_503_and_later_every_order_is_booked", "accounts/test_encryption.py::test_without_its_key_nothing_is_readable_and_nothing_is_rotated")),
]  # fmt: skip


# What was tried against each row, by the first of its numbers; the tests next to it try it again.
ATTACKS = {
    "1.2.1": "`<script>` and quotes in every text a sender or the carrier can set, then on every page",
    "1.2.2": "an order id of `../../x?y#z`, and a tracking address of `javascript:`",
    "1.2.4": "`password__startswith` in a list's address; SQL put together from values, looked for in the code",
    "1.2.10": "cells that begin with `=`, `+`, `-`, `@` or a tab, in every file that people download",
    "1.3.6": "label addresses and redirects that lead to another host, to this machine, or to a private network",
    "1.3.12": "every pattern in the code against repeated pairs of filler characters; the worst texts in every field and paste box",
    "1.5.2": "a pickle written into the cache's table; `pickle`, `yaml.load` and `eval`, looked for in the code",
    "2.1.1": "none: a document; each length in it is compared with the form's by a test of the forms",
    "2.2.1": "posts with each field missing, too long, of another kind or of another country, bypassing the browser's own checks",
    "2.3.1": "booking without prices, cancelling what isn't booked, and steps of a form sent in another order",
    "2.3.2": "the parcel, file and row one above each limit",
    "2.3.3": "fifty presses of one button at once, and rows written without the code, against the database's own rules",
    "2.3.5": "not prevented: one operator's session is enough; each action has a reason and an audit row",
    "2.4.1": "fifty price requests and sixty invitations at once, and too many files within an hour, including unreadable ones",
    "3.2.1": "a label and an export of HTML opened as a page, or framed by another site",
    "3.3.1": "starting the portal with each unsafe setting",
    "3.3.2": "each cookie that a login sets, checked for its flags",
    "3.4.1": "every address, error and redirect, checked for its headers",
    "3.4.3": "script in a page, a frame around it, and a static file that has no policy",
    "3.4.4": "every response, checked for `nosniff`",
    "3.4.5": "leaving the page with the signed link by a link to another site",
    "3.4.8": "every response, checked for its policy on openers",
    "3.5.1": "a post to every address with no token, and a GET of every one that changes something",
    "3.5.8": "a label and a signed link opened by another site",
    "3.7.2": "ten spellings of another host in `next`, at both logins",
    "4.1.1": "every response, checked for its type and charset",
    "4.1.2": "a webhook over plain HTTP, with the right secret",
    "4.1.3": "a forged `X-Forwarded-For` and request id, with and without a proxy",
    "4.1.4": "PUT, DELETE, PATCH, TRACE, OPTIONS, CONNECT and an invented method on pages of each kind",
    "4.2.1": "two lengths, a negative one, a length together with chunks, and bodies shorter or longer than they claim",
    "5.1.1": "bodies above the limit, zip bombs, sheets of 20,000 blank rows many times over, XML entities",
    "5.2.4": "one file too many within an hour, counting unreadable ones; a label store over its quota",
    "5.3.2": "file names with a path in them, and paths below `/static/`",
    "5.4.1": "a download with a name that somebody chose",
    "6.1.1": "guesses at one account from many addresses, and its owner's login at the same time",
    "6.2.1": "passwords of 11, 12, 14, 15 and 64 characters",
    "6.2.4": "words of the brand, the person and the business in leet, doubled and with spaces; the list of stolen passwords",
    "6.2.5": "a sentence in lower case, which has to be accepted",
    "6.2.3": "a new password without the old one; one that differs in its last character",
    "6.3.2": "a login by the demo's passwords outside the demo",
    "6.3.3": "not prevented for senders: a password is enough unless their owner requires more; operators must set one up",
    "6.3.8": "a login and a sign-up with a known and an unknown address, compared by text and by time",
    "6.4.1": "a reset link after an hour, and one past the second factor",
    "6.5.1": "a code used twice, at another time, or eight at once; a database dump searched for seeds",
    "7.1.1": "not prevented beyond the lengths in the deviation",
    "7.2.3": "a session's key set before the login",
    "7.4.1": "a copied cookie after logout, and a half-finished login after a new password",
    "7.4.5": "a login on a lost machine, ended from another one and by an operator",
    "7.5.1": "a session from 50 minutes ago that changes the team or its rules, or exports the data",
    "8.1.1": "an address that doesn't say who may open it",
    "8.2.1": "each role at each address, another account's objects by their keys, extra fields in a post, and masked columns by filter, order and search",
    "8.3.1": "a label, file and link after suspending, stopping, cancelling, removing, demoting, erasing and a restore",
    "8.4.1": "another account's owner and viewer at every address with an object, GET and POST",
    "9.1.2": "a link checked for its algorithm, its host and its expiry",
    "10.1.1": "a database and a session searched for tokens after a login; the scopes in the request",
    "10.1.2": "an answer brought back by another browser, with another state, for another challenge, and twice",
    "10.5.1": "a nonce changed on the way; tokens that are unsigned, signed with another key, for another client, from another issuer or too old",
    "11.4.2": "digests and random sources, looked for in the code; tokens checked for their length",
    "12.2.1": "a server whose certificate is for another name, and one without TLS",
    "13.1.1": "none: a document; each connection in it is compared with the settings",
    "13.2.2": "UPDATE, DELETE and TRUNCATE of the audit log, DDL and COPY PROGRAM, as the portal's own role",
    "13.2.4": "fourteen spellings of this machine and of private networks as the address of an alert",
    "13.3.1": "secrets looked for on every page, and in logs, mails and the database",
    "13.4.1": "requests for `.git`, `.env`, settings, backups and listings of folders",
    "14.1.1": "a new column that isn't in any class; an erased person looked for in every column",
    "14.2.1": "not prevented in the addresses that the deviation names; logs remove them",
    "14.2.6": "parts of a masked email and phone in every search, filter and order of the admin; whole ones leave a row in the audit",
    "14.3.2": "every page after a login, checked for `no-store`; scripts checked for what they store",
    "15.1.2": "a package that isn't in the lock file, or with another hash",
    "15.2.2": "the worst texts in every field; a carrier and a mail server that don't answer, while others book",
    "15.2.3": "the sandbox and the demo's pages, requested in an installation",
    "15.3.2": "a redirect from the carrier, a field sent twice, and fields that no form has",
    "15.4.2": "many simultaneous presses of each button; for each condition of a compare-and-swap, a row that differs only in that",
    "16.1.1": "every event, checked for its members",
    "16.2.5": "names, phones, emails and signed links sent through every search, form and error of a whole site, then looked for in all its logs, including PostgreSQL's and nginx's",
    "16.3.1": "wrong passwords, refused pages and forged requests, each looked for in the log",
    "16.4.2": "rows of the audit changed and deleted by the portal's own role; no second copy is kept elsewhere",
    "16.5.1": "an error of ours on a page, a database that goes away, and a missing key",
}


def asvs() -> str:
    body: list[tuple[object, ...]] = []
    for numbers, level, asks, evidence in ROWS:
        verdict = (
            "deviation" if evidence[0] == DEVIATION else "pass, with a deviation" if DEVIATION in evidence else "pass"
        )
        attack = ATTACKS[re.split("[,-]", numbers)[0]]
        body.append((numbers, level, asks, verdict, attack, "<br>".join(f"`{shown(one)}`" for one in evidence)))
    return (
        "# OWASP ASVS 5.0\n\nMade from `tests/security/asvs.py` by `UPDATE_EXPECTED=1 ./dev test tests/security`; a test finds every test and "
        f"document named here. {len(ROWS)} rows, 0 open. The deviations are in [deviations.md](deviations.md).\n\n"
        + rows(("requirement", "level", "what it asks", "verdict", "attack", "shown by"), body)
    )


def shown(evidence: str) -> str:
    return evidence if evidence.startswith("docs/") else f"tests/{evidence}"


def is_there(evidence: str) -> bool:
    """Return whether this document exists, or this test in its file."""
    path, _, name = shown(evidence).partition("::")
    file = ROOT / path
    return file.is_file() and (not name or f"def {name}(" in file.read_text())
