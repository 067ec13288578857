"""Process the carrier's weekly billing report, from upload to explanation (interface §2.5)."""
