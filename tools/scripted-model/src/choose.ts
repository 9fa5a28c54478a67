import { findPosition } from './conversation.ts';
import { lastMarker, type Marker } from './last-marker.ts';
import { decodeScript } from './marker.ts';
import type { MessagesRequest } from './messages-request.ts';
import type { Script, Step } from './script.ts';
import { isSideRequest, sideReply } from './side-request.ts';

/** The reply to a request, and why it was chosen. */
export type Choice = {
  /** `script`: a step; `finished`: after the last step; `default`: no marker; `side`: not the conversation; `invalid`: a bad marker. */
  kind: 'script' | 'finished' | 'default' | 'side' | 'invalid';
  reply: Step;
  script?: string;
  step?: number;
  /** Identifies a step across its attempts, for failures that happen a limited number of times. */
  key: string;
};

const DEFAULT_REPLY: Step = { text: 'OK.' };
const CLOSING_REPLY: Step = { text: 'Done.' };

/** Chooses the model's reply from the request alone. */
export function chooseReply(request: MessagesRequest, scripts: ReadonlyMap<string, Script>): Choice {
  if (isSideRequest(request)) return { kind: 'side', reply: sideReply(request), key: 'side' };
  const position = findPosition(request.messages, (text) => lastMarker(text) ?? markerFor(text, scripts));
  if (position === undefined) return { kind: 'default', reply: DEFAULT_REPLY, key: 'default' };
  const { marker, step, markerIndex, newerMessage } = position;
  const name = marker.kind === 'named' ? marker.name : 'inline';
  const found = resolve(marker, scripts);
  if (typeof found === 'string') return { kind: 'invalid', reply: badRequest(found), script: name, key: 'invalid' };
  const key = `${markerIndex} ${marker.kind === 'named' ? `@${marker.name}` : marker.encoded} ${step}`;
  const due = found.steps[step];
  if (due !== undefined) return { kind: 'script', reply: due, script: name, step, key };
  return { kind: 'finished', reply: newerMessage ? DEFAULT_REPLY : CLOSING_REPLY, script: name, step, key };
}

/** A marker for the script whose `when` occurs in the text. */
function markerFor(text: string, scripts: ReadonlyMap<string, Script>): Marker | undefined {
  const found = [...scripts].find(([, { when }]) => when !== undefined && text.includes(when));
  return found === undefined ? undefined : { kind: 'named', name: found[0] };
}

/** An error that the CLI shows at once, without retries. */
function badRequest(message: string): Step {
  return { error: { status: 400, message: `scripted model: ${message}` } };
}

function resolve(marker: Marker, scripts: ReadonlyMap<string, Script>): Script | string {
  if (marker.kind === 'named') return scripts.get(marker.name) ?? `no script is named "${marker.name}"`;
  try {
    return decodeScript(marker.encoded);
  } catch {
    return 'the script in the prompt cannot be read';
  }
}
