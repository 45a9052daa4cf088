"use strict";

// The page is complete without this script. The script only fetches it again, and copies commands.
const interval = 5000;
const root = document.documentElement;
const state = document.getElementById("refresh-state");
const pause = document.getElementById("pause");
const focusable = "a[href], button, summary, [tabindex]";
const shown = new Map(); // the server's HTML of each section, by id

root.classList.add("scripted");
for (const section of document.querySelectorAll("[data-live]")) shown.set(section.id, section.outerHTML);

const paused = () => pause.getAttribute("aria-pressed") === "true";
const selected = () => !getSelection().isCollapsed;
const say = text => { if (state.textContent !== text) state.textContent = text; };

// Replaces a section. What was open stays open, and what had the focus keeps it.
const replace = (old, fresh) => {
  for (const open of old.querySelectorAll("details[open]")) {
    const again = fresh.querySelector("#" + CSS.escape(open.id));
    if (again) again.open = true;
  }
  const index = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  old.replaceWith(fresh);
  if (index >= 0) fresh.querySelectorAll(focusable)[index]?.focus({ preventScroll: true });
};

const refresh = async () => {
  if (paused() || document.hidden) return;
  if (selected()) return say("Paused while text is selected.");
  let page;
  try {
    const response = await fetch("/", { cache: "no-store" });
    if (!response.ok) throw new Error(response.status);
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return say("The projector does not answer.");
  }
  if (paused() || selected()) return; // since the request
  say("");
  const fresh = [...page.querySelectorAll("[data-live]")];
  if (fresh.some(section => !shown.has(section.id)) || fresh.length < shown.size) return location.reload();
  for (const section of fresh) {
    const html = section.outerHTML;
    if (shown.get(section.id) === html) continue;
    shown.set(section.id, html);
    replace(document.getElementById(section.id), document.adoptNode(section));
  }
};

pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!paused()));
  say(paused() ? "Paused." : "");
  if (!paused()) refresh();
});

// Without access to the clipboard, which browsers give to secure pages alone, the command is selected.
document.addEventListener("click", async event => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const command = button.previousElementSibling;
  try {
    await navigator.clipboard.writeText(command.textContent);
    say("Copied: " + command.textContent);
  } catch {
    getSelection().selectAllChildren(command);
  }
});

setInterval(refresh, interval);
