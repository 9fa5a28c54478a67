/** A line of the host, as far as the emulator uses it. */
export type InputLine =
  | { kind: 'user'; uuid: string; text: string }
  | { kind: 'request'; id: string; request: { subtype: string; [field: string]: unknown } }
  | { kind: 'answer'; id: string; response: Record<string, unknown> }
  | { kind: 'other' };

/** @throws SyntaxError when the line is not JSON, Error when it has the wrong shape; both end the real CLI as well */
export function readLine(text: string): InputLine {
  const line: unknown = JSON.parse(text);
  if (!isRecord(line)) throw new Error('Expected an object');
  switch (line.type) {
    case 'user':
      return userLine(line);
    case 'control_request': {
      const { request, request_id: id } = line;
      if (!isRecord(request)) throw new Error('Missing request on control_request');
      return { kind: 'request', id: String(id), request: { ...request, subtype: String(request.subtype) } };
    }
    case 'control_response': {
      const response = isRecord(line.response) ? line.response : {};
      return { kind: 'answer', id: String(response.request_id), response };
    }
    default:
      return { kind: 'other' };
  }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function userLine(line: Record<string, unknown>): InputLine {
  const message = isRecord(line.message) ? line.message : {};
  if (message.role !== 'user') throw new Error(`Expected message role 'user', got '${String(message.role)}'`);
  return { kind: 'user', uuid: String(line.uuid), text: textOf(message.content) };
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  return content
    .map((block: unknown) => (isRecord(block) && typeof block.text === 'string' ? block.text : ''))
    .join('\n');
}

/** Splits a stream of text into lines. */
export function createLineCutter(take: (line: string) => void): (piece: string) => void {
  let parts: string[] = [];
  return (piece) => {
    const lines = piece.split('\n');
    lines.forEach((part, index) => {
      parts.push(part);
      if (index === lines.length - 1) return;
      const whole = parts.join('');
      parts = [];
      if (whole.trim() !== '') take(whole);
    });
  };
}
