// What the pages of the documentation add to their HTML, which is complete without it: the theme of the console, and buttons that copy code.

const theme = localStorage.getItem("theme");
if (theme && theme !== "system") document.documentElement.dataset.theme = theme;

for (const code of document.querySelectorAll<HTMLElement>(".docs-text figure.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small";
  button.textContent = "Copy";
  const said = document.createElement("span");
  said.className = "unseen";
  said.setAttribute("role", "status");
  button.addEventListener("click", () => {
    const say = (text: string) => {
      button.textContent = said.textContent = text;
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
    };
    const pre = code.querySelector("pre")!;
    const select = () => { // pages of plain HTTP have no clipboard
      getSelection()?.selectAllChildren(pre);
      say(document.execCommand("copy") ? "Copied" : "Selected");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(() => say("Copied"), select);
    else select();
  });
  code.append(button, said);
}

// The menu may be longer than the window.
const menu = document.querySelector(".docs-menu"), current = menu?.querySelector<HTMLElement>("[aria-current]");
if (menu && current) menu.scrollTop = current.offsetTop - menu.clientHeight / 2;

addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || (e.target as Element).closest("input, textarea")) return;
  e.preventDefault();
  document.querySelector<HTMLInputElement>("input[type=search]")?.focus();
});
