// Asks NanoClaw something through its REST interface, with the generated types:
// node ask.js URL TOKEN TEXT prints the answer as it is written.
import { create, fromJson, toJsonString, type JsonValue } from "@bufbuild/protobuf";
import {
  ConversationSchema,
  CreateConversationRequestSchema,
  StreamMessageRequestSchema,
} from "../../../gen/ts/nanoclaw/orchestrator/v1/conversation_pb";
import { RunEventSchema, type RunEvent } from "../../../gen/ts/nanoclaw/orchestrator/v1/run_pb";

declare const process: { argv: string[]; exitCode: number; stdout: { write(text: string): void } };

// Fields have the names of the contract, and what is newer than these types is
// left alone.
const writing = { useProtoFieldName: true };
const reading = { ignoreUnknownFields: true };

async function post(url: string, token: string, body: string): Promise<Response> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body,
  });
  if (!response.ok) {
    const problem = (await response.json()) as { message: string; reason: string };
    throw new Error(`${response.status} ${problem.reason}: ${problem.message}`);
  }
  return response;
}

// events reads server-sent events. The name of an event is the field of RunEvent
// that its data is, its id the sequence number.
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<RunEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let buffered = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffered += decoder.decode(value, { stream: true });
    const frames = buffered.split("\n\n");
    buffered = frames.pop() ?? "";
    for (const frame of frames) {
      const field = (name: string) =>
        frame.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [name, data] = [field("event"), field("data")];
      if (name === undefined || data === undefined) continue;
      yield fromJson(RunEventSchema, { seq: Number(field("id") ?? 0), [name]: JSON.parse(data) as JsonValue }, reading);
    }
  }
}

async function main(base: string, token: string, text: string): Promise<void> {
  const created = await post(
    `${base}/api/conversations`,
    token,
    toJsonString(CreateConversationRequestSchema, create(CreateConversationRequestSchema, { title: text }), writing),
  );
  const { data } = (await created.json()) as { data: JsonValue };
  const conversation = fromJson(ConversationSchema, data, reading);
  const asked = await post(
    `${base}/api/conversations/${conversation.id}/messages`,
    token,
    toJsonString(StreamMessageRequestSchema, create(StreamMessageRequestSchema, { content: text }), writing),
  );
  if (asked.body === null) throw new Error("the answer has no body");
  for await (const { event } of events(asked.body)) {
    switch (event.case) {
      case "message":
        process.stdout.write(event.value.content);
        break;
      case "toolCall":
        for (const call of event.value.calls) console.error(`calls ${call.function?.name}`);
        break;
      case "done":
        process.stdout.write("\n");
        return;
      case "error":
        throw new Error(event.value.message);
    }
  }
  throw new Error("the stream ended before the run");
}

main(process.argv[2], process.argv[3], process.argv[4]).catch((problem: Error) => {
  console.error(problem.message);
  process.exitCode = 1;
});
