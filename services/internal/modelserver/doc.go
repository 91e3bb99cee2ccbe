// Package modelserver plays a language model from a script. It speaks the
// chat-completions protocol, streamed and not, so that everything above it is
// exercised as with a real provider: deltas, tool calls, delays, refusals,
// garbage, cut connections. It invents nothing: a request that the script does
// not foresee is refused with the words that say why.
//
// It is never mistaken for a real model: its name starts with "scripted" and
// every answer carries system_fingerprint "nanoclaw-scripted".
//
// # Script
//
// A script is a YAML or JSON file:
//
//	model: scripted-story          # name in answers and in /v1/models
//	turns:
//	  - when: {user_contains: "weather"}
//	    replies:
//	      - steps:                 # the first model call after the user spoke
//	          - reasoning: "I should look that up."
//	          - call: {name: web_search, arguments: {query: "weather today"}}
//	      - steps:                 # the call after the tool's result
//	          - delay_ms: 20
//	          - text: "It is sunny, says {{url web_search 0}}."
//
// The first turn whose conditions all hold is played; a turn without "when"
// matches always. Conditions: user_contains (in the last user message, letter
// case ignored), last_role (role of the last message), model (the name asked
// for), request (the nth chat request to this server, counted from 1).
//
// Which reply is played depends on the conversation alone: it is the one whose
// number, from 0, is the number of assistant messages since the last user
// message. Any number of conversations can go on side by side, and a repeated
// request gets the same reply. After the last reply the request is refused,
// unless the turn says repeat: true; then the last reply is played again. A reply
// with until {tool, path, is, at_most} is played again, as one that asks how a
// task goes, until the value at path in the tool's latest result is the one it
// waits for, but at_most times; the numbers of those after it move on.
//
// A reply has steps, finish (default: tool_calls after a call, else stop),
// usage {prompt_tokens, completion_tokens} (default: a count of words) and
// no_usage. Or it has http {status, headers, body} and is no stream at all.
// Steps are, each one of:
//
//	text: "..."          content, chunk characters a delta (default 16)
//	reasoning: "..."     reasoning_content
//	call: {name, arguments, id}   a tool call; arguments are a mapping, or a
//	                     string sent as it is (malformed arguments)
//	delay_ms: 50         wait
//	comment: "..."       a keep-alive comment
//	raw: "..."           bytes written into the stream as they are (garbage,
//	                     error frames)
//	repeat_raw: {text, times}   raw many times over (floods)
//	cut: true            drop the connection
//	end: true            end the stream properly but without finish and [DONE]
//	silence: true        send nothing more until the client leaves
//
// # Templates
//
// text, raw and all strings in arguments and http bodies may hold:
//
//	{{user}}                     the last user message
//	{{result TOOL}}              the latest result of TOOL, whole
//	{{result TOOL a.0.b}}        a value in that result read as JSON
//	{{url TOOL N}}               the Nth http(s) address in it, from 0
//
// A template that cannot be filled refuses the request and says what was there.
//
// # Checks
//
// The server refuses with HTTP 400 what strict providers refuse: a tool call
// without its result, a result without its call, arguments in the history that
// are not JSON, a message without content, tool names outside
// ^[a-zA-Z0-9_-]{1,64}$.
package modelserver
