// Turns: a page that is being written.
import { Page } from "../ui";

export default function TurnsPage() {
  return <Page title="Turns"><p class="dim">This page is being written.</p></Page>;
}
