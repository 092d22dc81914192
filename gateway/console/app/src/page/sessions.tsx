// Conversations: a page that is being written.
import { Page } from "../ui";

export default function ConversationsPage() {
  return <Page title="Conversations"><p class="dim">This page is being written.</p></Page>;
}
