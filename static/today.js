// Once a minute, while somebody looks: is anything different? Then it says so. The page never changes by itself.
"use strict";

const changed = document.getElementById("changed");
const EVERY = 60_000; // milliseconds

if (changed) {
  const asking = setInterval(async () => {
    if (document.hidden) return;
    try {
      const reply = await fetch(changed.dataset.ask, { redirect: "error" });
      if (reply.status !== 200) return;
    } catch {
      return; // no network, or logged out since: the page stays as it was
    }
    clearInterval(asking);
    changed.append(changed.querySelector("template").content);
  }, EVERY);
}
