import type { McpState } from '@callboard/contract';
import { expect, it } from 'vitest';
import { hasOutput, mayReconnect, mcpFacts, mcpSummary, outputText, taskKind } from './session-panels.tsx';

it.each([
  ['local_bash', 'Command', true],
  ['local_agent', 'Subagent', false],
  ['remote_agent', 'remote agent', false],
] as const)('names a task of the type %s', (type, kind, prints) => {
  expect(taskKind({ type })).toBe(kind);
  expect(hasOutput({ type })).toBe(prints);
});

it('says how much of the output is shown if it is cut', () => {
  expect(outputText({ output: 'x', totalBytes: 1, isCut: false })).toBeNull();
  expect(outputText({ output: 'x', totalBytes: 2_000_000, isCut: true })).toBe('The end of 2.0 MB');
});

const of = (...states: McpState[]) => states.map((state) => ({ state }));

it('summarizes all servers in one line, problems first', () => {
  expect(mcpSummary(of('connected'))).toBe('1 MCP server: connected');
  expect(mcpSummary(of('connected', 'failed', 'connected', 'needs-auth'))).toBe(
    '4 MCP servers: 1 failed, 1 needs a login, 2 connected',
  );
});

it('says what a server offers, or how to fix it', () => {
  const facts = (state: McpState, more = {}) => mcpFacts({ state, tools: null, error: null, ...more });
  expect(facts('connected', { tools: 1 })).toBe('1 tool');
  expect(facts('failed', { error: 'Connection closed' })).toBe('Connection closed');
  expect(facts('needs-auth')).toContain('/mcp');
  expect(facts('pending')).toBeNull();
});

it('offers to reconnect the servers that can be', () => {
  const may = (['connected', 'failed', 'needs-auth', 'unknown', 'pending', 'disabled'] as const).filter((state) =>
    mayReconnect({ state }),
  );
  expect(may).toEqual(['connected', 'failed', 'needs-auth', 'unknown']);
});
