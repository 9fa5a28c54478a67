import type { PendingRequest } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import type { UserEvent } from '@testing-library/user-event';
import { expect, it } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';

const TITLE = 'Login form';
const exact = (name: string) => ({ name, exact: true });
const PLAN = '# Login\n\nFirst the **route**, then the form.\n\n- one step\n- another step\n';

/** Opens the board under this request; the server keeps its draft, as after a load of the page. */
function open(asked: PendingRequest, draft: unknown = null) {
  const asking = { stage: stage('STAGE-1', { title: TITLE }), session: session('STAGE-1', { state: 'waiting' }) };
  const page = openPage('/', board({ stages: [asking], pending: [asked] }));
  const saved = { stageId: asked.stageId, key: asked.requestId, updatedAt: at(2), writer: null };
  page.server.answer({
    get_drafts: () => ({ drafts: draft === null ? [] : [{ ...saved, value: draft }] }),
    put_draft: ({ value }) => ({ draft: { ...saved, value } }),
    approve_tool: () => ({ decision: decision(asked) }),
    answer_question: () => ({ decision: decision(asked, { outcome: 'answered' }) }),
  });
  const sent = (command: string) =>
    page.server.received.filter((one) => one.command === command).map(({ input }) => input);
  return { ...page, sent };
}

/** Presses a button, which works half a second after it was drawn. */
async function press(user: UserEvent, button: HTMLElement): Promise<void> {
  await expect.poll(() => button.hasAttribute('disabled') || button.hasAttribute('aria-disabled')).toBe(false);
  await user.click(button);
}

/** Writes at once what a person would type letter by letter. */
async function write(user: UserEvent, box: HTMLElement, text: string): Promise<void> {
  await user.click(box);
  await user.paste(text);
}

const plan = (requestId: string) =>
  request('STAGE-1', requestId, { kind: 'plan', toolName: 'ExitPlanMode', displayName: 'Plan', input: { plan: PLAN } });
const planDialog = async () => within(await screen.findByRole('dialog', exact(`${TITLE}: Review the plan`)));
const comment = { id: 'c1', block: 1, quote: 'First the route, then the form.', text: 'The form first' };
const begun = { block: 2, quote: 'another step', text: 'Which one?' };

it('comments on a paragraph of a plan and on selected words, and keeps both on the server', async () => {
  const { user, sent } = open(plan('plan-1'));
  const form = await planDialog();
  await form.findByRole('heading', exact('Login'));
  await user.click(form.getByRole('button', exact(`Comment on: ${comment.quote}`)));
  await write(user, form.getByRole('textbox', { name: 'Comment' }), comment.text);
  await user.click(form.getByRole('button', { name: 'Add comment' }));
  within(form.getByRole('list', { name: 'Comments' })).getByText(comment.text);
  act(() => {
    document.getSelection()?.selectAllChildren(form.getByText('another step'));
    document.dispatchEvent(new Event('selectionchange'));
  });
  await user.click(await form.findByRole('button', { name: 'Comment on the selection' }));
  await write(user, form.getByRole('textbox', { name: 'Comment' }), begun.text);
  await expect
    .poll(() => sent('put_draft').at(-1))
    .toMatchObject({ key: 'plan-1', value: { comments: [{ ...comment, id: expect.any(String) }], begun } });
  form.getByText('2 comments to send back');
});

it('sends a plan back with its comments, also one that was not added, and warns that an acceptance leaves them out', async () => {
  const { user, sent } = open(plan('plan-2'), { comments: [comment], begun });
  const form = await planDialog();
  await form.findByText('2 comments to send back');
  expect(form.getByRole<HTMLTextAreaElement>('textbox', { name: 'Comment' }).value).toBe(begun.text);
  await write(user, form.getByRole('textbox', { name: 'Reason' }), 'Smaller, please');
  await press(user, form.getByRole('button', exact('Accept plan')));
  await form.findByText(/^“Accept plan” leaves out what you wrote \(2 comments and the reason\)/);
  expect(sent('approve_tool')).toEqual([]);
  await press(user, form.getByRole('button', exact('Send back')));
  await expect.poll(() => sent('approve_tool')).toMatchObject([{ requestId: 'plan-2', decision: 'deny' }]);
  const reason = JSON.stringify(sent('approve_tool'));
  expect(reason).toContain('> First the route, then the form.\\nThe form first');
  expect(reason).toContain('> another step\\nWhich one?');
  expect(reason).toContain('Smaller, please');
});

it('accepts a plan with the mode that follows', async () => {
  const { user, sent } = open(plan('plan-3'));
  const form = await planDialog();
  await user.selectOptions(form.getByRole('combobox', { name: 'Once accepted' }), 'Then edit freely');
  await press(user, form.getByRole('button', exact('Accept plan')));
  const updatedPermissions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
  await expect.poll(() => sent('approve_tool')).toMatchObject([{ decision: 'allow', updatedPermissions }]);
});

it('offers the mode that the stage worked in before first, by its name', async () => {
  const { user, sent } = open({ ...plan('plan-4'), modeBefore: 'acceptEdits' });
  const form = await planDialog();
  const box = form.getByRole<HTMLSelectElement>('combobox', { name: 'Once accepted' });
  expect([...box.options].map(({ label }) => label)).toEqual([
    'As before: Edit freely, ask for the rest',
    'Then ask for each edit',
  ]);
  await press(user, form.getByRole('button', exact('Accept plan')));
  const updatedPermissions = [{ type: 'setMode', mode: 'acceptEdits', destination: 'session' }];
  await expect.poll(() => sent('approve_tool')).toMatchObject([{ decision: 'allow', updatedPermissions }]);
});

const options = ['SQLite', 'PostgreSQL'].map((label) => ({
  label,
  description: `On ${label}`,
  preview: `-- ${label}`,
}));
const named = options.map(({ label, description }) => ({ label, description }));
const questions = [
  { question: 'Which database?', header: 'Database', multiSelect: false, options },
  { question: 'Which name?', header: 'Name', multiSelect: false, options: named },
];
const asking = (requestId: string, asked = questions) =>
  request('STAGE-1', requestId, {
    kind: 'question',
    toolName: 'AskUserQuestion',
    displayName: 'Question',
    input: { questions: asked },
  });

it('shows what an option leads to, goes to the next open question, and sends all answers together', async () => {
  const { user, sent } = open(asking('ask-1'));
  const form = within(await screen.findByRole('dialog', exact(`${TITLE}: 2 questions`)));
  const first = within(await form.findByRole('group', { name: /Which database\?/ }));
  first.getByText('-- SQLite');
  await user.click(first.getByRole('radio', { name: /^PostgreSQL/ }));
  await first.findByText('-- PostgreSQL');
  form.getByText('1 of 2 answered');
  const submit = form.getByRole<HTMLButtonElement>('button', { name: 'Submit' });
  expect(submit.disabled).toBe(true);
  await user.click(form.getByRole('button', { name: 'Next: Name' }));
  const second = within(form.getByRole('group', { name: /Which name\?/ }));
  const [radio] = second.getAllByRole('radio');
  await expect.poll(() => document.activeElement === radio).toBe(true);
  await write(user, second.getByRole('textbox', { name: 'Other' }), 'Journal');
  await press(user, submit);
  const answers = { 'Which database?': 'PostgreSQL', 'Which name?': 'Journal' };
  await expect.poll(() => sent('answer_question')).toMatchObject([{ requestId: 'ask-1', answers }]);
});

it('declines to answer with a reason, which is not kept for the next question, and without one', async () => {
  const [first, second] = [asking('ask-2', questions.slice(0, 1)), asking('ask-3', questions.slice(0, 1))];
  const { user, server, sent } = open(first);
  const form = async () => within(await screen.findByRole('dialog', exact(`${TITLE}: A question`)));
  await write(user, (await form()).getByRole('textbox', exact('Reason')), 'You know better');
  server.answer({
    approve_tool: ({ requestId }) => {
      if (requestId === first.requestId) server.emit('question-requested', second);
      return { decision: decision(requestId === first.requestId ? first : second, { outcome: 'denied' }) };
    },
  });
  await press(user, (await form()).getByRole('button', exact('Decline')));
  await expect
    .poll(() => sent('approve_tool'))
    .toMatchObject([{ requestId: 'ask-2', decision: 'deny', reason: 'You know better' }]);
  const reason = async () => (await form()).getByRole<HTMLTextAreaElement>('textbox', exact('Reason')).value;
  await expect.poll(reason).toBe('');
  await press(user, (await form()).getByRole('button', exact('Decline')));
  await expect.poll(() => sent('approve_tool')).toHaveLength(2);
  expect(sent('approve_tool')[1]).toEqual({ stageId: 'STAGE-1', requestId: 'ask-3', decision: 'deny' });
});
