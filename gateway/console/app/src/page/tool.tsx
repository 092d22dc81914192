// Tool: a page that is being written.
import { Page } from "../ui";

export default function ToolPage() {
  return <Page title="Tool"><p class="dim">This page is being written.</p></Page>;
}
