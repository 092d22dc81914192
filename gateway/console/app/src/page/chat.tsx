// Conversations.
import type { PageProps } from "../route";
import { useTitle } from "../ui";
import { Chat, SessionList } from "../view/chat";

export default function ChatPage({ id }: PageProps) {
  useTitle("Chat");
  return (
    <div class="chat">
      <aside class="chat-side" aria-label="Conversations"><h2>Conversations</h2><SessionList current={id} /></aside>
      <Chat key={id} session={id} />
    </div>
  );
}
