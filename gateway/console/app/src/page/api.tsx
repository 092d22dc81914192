// API: a page that is being written.
import { Page } from "../ui";

export default function ApiPage() {
  return <Page title="API"><p class="dim">This page is being written.</p></Page>;
}
