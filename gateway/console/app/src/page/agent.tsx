// Agent: a page that is being written.
import { Page } from "../ui";

export default function AgentPage() {
  return <Page title="Agent"><p class="dim">This page is being written.</p></Page>;
}
