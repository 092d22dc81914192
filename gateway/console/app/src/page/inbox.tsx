// What waits for a person.
import { useTitle } from "../ui";
import { Inbox } from "../view/inbox";

export default function InboxPage() {
  useTitle("Inbox");
  return <Inbox />;
}
