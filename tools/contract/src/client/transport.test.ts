import { expect, it } from 'vitest';
import { type ProblemCode, problems } from '../problems.ts';
import { TransportError, type TransportErrorCode } from './transport.ts';

const error = (code: TransportErrorCode, status: number) => new TransportError(status, code, 'words');

it('treats an unreachable, starting or overloaded server as transient', () => {
  const codes = Object.entries(problems).map(([code, { status }]) => [code as ProblemCode, status] as const); // the keys of the table
  const passing = codes.filter(([code, status]) => error(code, status).isTransient).map(([code]) => code);
  expect(passing).toEqual([
    'page_not_proven',
    'too_many_requests',
    'too_many_streams',
    'claude_missing',
    'claude_too_old',
    'launch_failed',
    'worktree_failed',
    'setup_failed',
    'fetch_failed',
    'storage_failed',
    'search_unavailable',
    'no_confirmation',
    'code_host_unreachable',
    'push_failed',
    'webhook_failed',
    'orchestrator_unreachable',
    'reply_lost',
    'machine_unreachable',
    'no_machine',
    'lease_lost',
    'starting',
  ]);
  expect(error('network', 0).isTransient).toBe(true);
  expect(error('unreadable', 502).isTransient).toBe(true);
  expect(error('unreadable', 200).isTransient).toBe(false);
});
