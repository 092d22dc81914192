// Bank: a page that is being written.
import { Page } from "../ui";

export default function BankPage() {
  return <Page title="Bank"><p class="dim">This page is being written.</p></Page>;
}
