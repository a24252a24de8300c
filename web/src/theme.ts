// Light or dark: as the system has it, unless the page was told.

import type { Theme } from "./state";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let printing = false;
let applied: Theme = "auto";

// Paper is white.
export function isDark(theme: Theme): boolean {
  return !printing && (theme === "dark" || (theme === "auto" && system.matches));
}

// Told when the system changes, and around printing; not when the state does.
export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function applyTheme(theme: Theme): void {
  applied = theme;
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function tell(): void {
  for (const listener of listeners) listener();
}

system.addEventListener("change", tell);
addEventListener("beforeprint", () => {
  printing = true;
  document.documentElement.dataset.theme = "light";
  tell();
});
addEventListener("afterprint", () => {
  printing = false;
  applyTheme(applied);
  tell();
});
