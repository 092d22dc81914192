// Tools: a page that is being written.
import { Page } from "../ui";

export default function ToolsPage() {
  return <Page title="Tools"><p class="dim">This page is being written.</p></Page>;
}
