// Light, dark, or as the system says.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

export const theme = signal<Theme>((localStorage.getItem("theme") as Theme | null) ?? "system");

function show() {
  if (theme.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

export function chooseTheme(to: Theme) {
  theme.value = to;
  localStorage.setItem("theme", to);
  show();
}

show();
