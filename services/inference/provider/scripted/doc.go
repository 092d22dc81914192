// Package scripted is the model builtin/scripted: deterministic, without any intelligence, and it says so. It lets Windlass
// be tried and tested without a key and without a network.
//
// It reads the last user message. Words of this form in it are directives; a directive starts at a word's start, is
// lower-case, and has no space behind its colon. What does not fit its form is plain text.
//
//	call:NAME {json}   call a tool. NAME is the tool's whole name, or its part behind "__" (the first tool that has it);
//	                   a NAME that no tool has is called as it is. Without an object the arguments are {}. What begins with
//	                   { but is no JSON is sent as it is, up to the next directive. "$n" in it becomes the loop's count.
//	                   Several calls in one stage are made in parallel.
//	then               between directives: the next stage begins, after the results of this one. A stage without calls
//	                   is part of the next one.
//	loop:N             make the calls of this stage in N model steps, one after the other (at most 1000).
//	say:TEXT           the final answer, when all stages are through. TEXT goes on to the next directive or "then", or is a
//	                   JSON string in quotes. Several are joined by a space.
//	cite: WORDS        search the agent's documents for WORDS, which are as TEXT in say and may have a space before them; the final
//	                   answer quotes and cites the first passage that is found.
//	tokens:N           N words "w1 w2 …" in the final answer (at most 100000).
//	image:all          the final answer says what images, sounds and other files came with the message and with results: types,
//	                   pixels and bytes.
//	remember: ATTRIBUTE = VALUE
//	                   calls mesh__remember. "my brother's" before ATTRIBUTE makes it one of the brother. VALUE goes on as TEXT in say.
//	think:TEXT         reasoning in the first model step of this stage. TEXT as in say.
//	json:VALUE         the final answer is this JSON object or list. Several are the answers of several tries, in order: those that
//	                   follow when an answer does not fit the schema of the agent.
//	slow:MS            pause before every word but the first, in every model step (at most 60000).
//	first:MS           pause before the first word, in every model step (at most 600000).
//	fail:once          every model step fails once, so that a retry succeeds. Counted in this process by turn and step.
//	fail:always        every model step fails for good.
//	finish:REASON      the final answer ends with this finish reason: stop, length or content_filter.
//
// An answer that is longer than the call allows (max_output_tokens, estimated) is cut, and its finish reason is length.
//
// A number out of its range ends the call with MODEL_REJECTED; a pause longer than the service waits for any model ends it as
// it does for any model. Which step comes next follows from the conversation alone: the
// messages with calls after the last user message are counted (those that were compacted meanwhile are not there, and so are made
// again). Without a say or tokens directive the final answer quotes the results.
//
// An answer that must fit a schema, and has no json directive for the try, is made for the schema: values that the message names
// ("city: Bonn"), else the simplest that fit. What a request says of choosing tools and of stops is obeyed; nothing is sampled, so what it
// says of sampling and reasoning changes nothing.
//
// A message without call, say and tokens is free text (pauses, thoughts and failures still apply): the tool whose name and
// description share most words with it is called, with arguments found in the text; the answer quotes its result. If required
// arguments cannot be found it says which; if no tool fits it says what it is. Where an agent has banks and no
// other tool fits better, they are searched for the message, and the answer quotes and cites the first passage; where it cannot search,
// the first of the passages that were found before it is asked.
//
// The question "What is (was, are, were) my ATTRIBUTE?" is answered with the value that is remembered of it, if there is one.
//
// Instructions are not read, except for the marks of workflows/contract. Asked for a strategy it says plan when the message has
// several parts (a numbered list, or parts with "then" or "finally" between them), react when it has a call directive, and else what the
// rules of workflows/contract/rules make of its words. Asked for an agent it names the one that shares most words with the
// message. Asked for a plan it makes a step of each part; asked for the rest of a plan it plans nothing. At a step of a plan that
// step's goal is the message; the answer over all results quotes them, unless the message says otherwise. Asked for a summary it
// says of how many messages, and how the newest of the users' begin. In the text protocol it writes one call at a time: those
// that would be made in parallel follow one another, of those in a loop only the first is made.
package scripted
