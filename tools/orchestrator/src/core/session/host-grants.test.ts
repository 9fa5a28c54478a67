import { type ApproveBody, RequestId } from '@callboard/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  asked,
  busyTestSession,
  type Reported,
  type TestSession,
  turnEnded,
  up,
} from '../../../test/support/test-session.ts';
import { openTestStore } from '../../../test/support/test-store.ts';
import { createApprovalService } from '../../features/approvals/approvals.ts';

const HOST = 'packages.example';

const call = (toolUseId: string, command = 'npm ci'): Reported => ({
  type: 'block',
  apiMessageId: `m-${toolUseId}`,
  parentToolUseId: null,
  block: { kind: 'tool-use', toolUseId, toolName: 'Bash', input: { command } },
});
const result = (toolUseId: string): Reported => ({
  type: 'tool-result',
  toolUseId,
  isError: false,
  text: '',
  parentToolUseId: null,
  allowedBy: null,
  sandboxFailure: null,
});
const tasks = (...ids: string[]): Reported => ({
  type: 'tasks',
  tasks: ids.map((taskId) => ({ taskId, type: 'local_bash', description: 'Dev server' })),
});
/** A command that is asked for, under the request of its name. */
const asks = (toolUseId: string, hosts: string[] = [HOST]) => [call(toolUseId), asked(toolUseId, { toolUseId, hosts })];

const approve = ({ store, stageId }: TestSession, id: string, fields: Partial<ApproveBody> = {}) =>
  createApprovalService({ store, confirmationMs: 0 }).approve(
    stageId,
    { requestId: RequestId.parse(id), decision: 'allow', ...fields },
    { name: 'Ada' },
  );
const withHost = { hosts: [HOST] };

/** What the process is told, in order: the hosts that it opens, and answers. */
const told = async (session: TestSession) =>
  (await session.outbox()).flatMap(({ body, wireId }) => {
    if (body.kind === 'answer') return [wireId];
    return body.kind === 'control' && body.request.subtype === 'apply_flag_settings' ? [body.request.settings] : [];
  });
const open = (...allowedDomains: string[]) => ({ sandbox: { network: { allowedDomains } } });

it('tells the process the hosts right before the answer, and takes them back with the result', async () => {
  const session = await busyTestSession();
  await session.emit(...asks('u1'));
  expect(await approve(session, 'u1', withHost)).toMatchObject({ by: 'Ada', outcome: 'allowed', hosts: [HOST] });
  expect(await told(session)).toEqual([open(HOST), 'u1']);
  await session.emit(result('u1'));
  expect(await told(session)).toEqual([open(HOST), 'u1', open()]);
  await session.emit(...asks('u2'));
  expect(await approve(session, 'u2')).not.toHaveProperty('hosts');
  expect(await told(session)).toEqual([open(HOST), 'u1', open(), 'u2']);
});

it('takes them back at the end of the turn, and at the end of the process', async () => {
  const session = await busyTestSession();
  await session.emit(...asks('u1'));
  await approve(session, 'u1', withHost);
  await session.emit(turnEnded('interrupted'));
  expect(await told(session)).toEqual([open(HOST), 'u1', open()]);
  expect(await session.end()).toMatchObject({ hostGrants: {}, openHosts: null });
  await session.begin();
  await session.emit(up());
  expect(await told(session)).toEqual([]);
});

it('keeps a host closed while another command runs that it was not allowed with', async () => {
  const session = await busyTestSession();
  await session.emit(call('u1', 'curl other.example'), ...asks('u2'));
  await approve(session, 'u2', withHost);
  expect(await told(session)).toEqual(['u2']);
  await session.emit(result('u1'));
  expect(await told(session)).toEqual(['u2', open(HOST)]);
  await session.emit(call('u3', 'curl other.example'));
  expect(await told(session)).toEqual(['u2', open(HOST), open()]);
});

it('keeps it open for a second command that it was allowed with', async () => {
  const session = await busyTestSession();
  await session.emit(...asks('u1'), ...asks('u2', [HOST, 'more.example']));
  await approve(session, 'u1', withHost);
  await approve(session, 'u2', { hosts: ['more.example', HOST] });
  expect(await told(session)).toEqual([open(HOST), 'u1', 'u2']);
  await session.emit(result('u1'));
  expect((await told(session)).at(-1)).toEqual(open('more.example', HOST));
});

it('opens nothing while a command runs in the background', async () => {
  const session = await busyTestSession();
  await session.emit(tasks('t1'), ...asks('u1'));
  await approve(session, 'u1', withHost);
  expect(await told(session)).toEqual(['u1']);
});

it('tells a process again that may have missed it', async () => {
  const session = await busyTestSession();
  await session.emit(up());
  await session.emit(...asks('u1'));
  await approve(session, 'u1', withHost);
  await session.emit(up());
  expect(await told(session)).toEqual([open(HOST), 'u1', open(HOST)]);
  await session.emit(result('u1'), up());
  expect(await told(session)).toEqual([open(HOST), 'u1', open(HOST), open()]);
});

it('refuses hosts that the request does not name', async () => {
  const session = await busyTestSession();
  await session.emit(...asks('u1'));
  const refused = { code: 'bad_request', message: expect.stringContaining('other.example') };
  await expect(approve(session, 'u1', { hosts: [HOST, 'other.example'] })).rejects.toMatchObject(refused);
  expect(await session.pending()).toHaveLength(1);
  expect(await told(session)).toEqual([]);
});

it('a denial opens nothing', async () => {
  const session = await busyTestSession();
  await session.emit(...asks('u1'));
  expect(await approve(session, 'u1', { decision: 'deny', ...withHost })).not.toHaveProperty('hosts');
  expect(await told(session)).toEqual(['u1']);
});

it('names no host that the project or a rule opens anyway', async () => {
  const test = await openTestStore();
  const session = await busyTestSession({}, test);
  await test.store.transact(async (tx) => {
    const stage = await tx.stages.find(session.stageId);
    const project = stage === null ? null : await tx.projects.find(stage.projectId);
    if (project === null) throw new Error('no project');
    const settings = { ...project.settings, sandboxHosts: ['*.kept.example', 'Packages.example'] };
    await tx.projects.save({ ...project, settings });
  });
  await session.emit(...asks('u1', [HOST, 'a.kept.example', 'kept.example']), ...asks('u2'));
  expect((await session.pending()).map(({ hosts }) => hosts)).toEqual([['kept.example'], undefined]);
});

it('whatever runs, a host is open only while every running command was allowed to reach it', async () => {
  const id = fc.constantFrom('u1', 'u2', 'u3', 'u4');
  const step = fc.record({
    id,
    what: fc.constantFrom('runs', 'asks', 'ends'),
    hosts: fc.subarray([HOST, 'b.example']),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const session = await busyTestSession();
      const running = new Map<string, string[]>();
      const begun = new Set<string>();
      for (const { id, what, hosts } of steps) {
        if (what === 'ends' && running.delete(id)) await session.emit(result(id));
        if (what === 'ends' || begun.has(id)) continue;
        begun.add(id);
        await session.emit(...(what === 'runs' ? [call(id)] : asks(id, [HOST, 'b.example'])));
        if (what === 'asks') await approve(session, id, { hosts });
        running.set(id, what === 'asks' ? hosts : []);
        const { openHosts } = await session.record();
        for (const host of openHosts ?? []) for (const allowed of running.values()) expect(allowed).toContain(host);
        const common = [...running.values()].reduce((all, one) => all.filter((host) => one.includes(host)));
        expect(new Set(openHosts)).toEqual(new Set(common));
      }
    }),
    { numRuns: 20 },
  );
});
