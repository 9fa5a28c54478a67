import { prompt } from '@callboard/scripted-model';
import { expect } from 'vitest';
import { callApi } from './api.ts';
import { openTestBoard, type TestBoard } from './test-board.ts';

type Steps = Parameters<typeof prompt>[0]['steps'];

/** A desk for tests of requests. */
interface RequestBoard extends TestBoard {
  /** Creates a stage and starts it; resolves with its id. */
  begin(title: string, steps: Steps, fields?: object): Promise<string>;
  send(method: 'GET' | 'POST' | 'PATCH', path: string, data?: object): Promise<{ [name: string]: unknown }>;
}

export async function openRequestBoard(): Promise<RequestBoard> {
  const desk = await openTestBoard();
  const send: RequestBoard['send'] = async (method, path, data) => {
    const response = await callApi(desk.origin, method, path, data);
    const text = await response.text();
    expect(`${response.status} ${text}`).toMatch(/^2/);
    return JSON.parse(text);
  };
  const begin: RequestBoard['begin'] = async (title, steps, fields = {}) => {
    const made = await send('POST', '/api/stages', { projectId: 'shop', title, prompt: prompt({ steps }), ...fields });
    const { id } = made.stage as { id: string };
    await send('POST', `/api/stages/${id}/start`);
    return id;
  };
  return { ...desk, begin, send };
}

export const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
export const done = { text: 'All finished.' };
export const wants = (title: string) => ({ name: `${title}: Run this command?` });
export const exact = (name: string) => ({ name, exact: true });
