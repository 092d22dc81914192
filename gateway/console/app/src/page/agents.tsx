// Agents: a page that is being written.
import { Page } from "../ui";

export default function AgentsPage() {
  return <Page title="Agents"><p class="dim">This page is being written.</p></Page>;
}
