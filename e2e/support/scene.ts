import { named, prompt, type ScriptedModel } from '@callboard/scripted-model';
import { QUESTIONS } from '../../test-support/questions.ts';
import { until } from '../../test-support/until.ts';
import { callApi } from './api.ts';

type Step = Parameters<typeof prompt>[0]['steps'][number];

const bash = (command: string, description: string) => ({ name: 'Bash', input: { command, description } });

const PLAN = `# A search index

1. Add a table \`search\` with a full-text index
2. Fill it when a product is saved
3. Answer \`GET /search?q=\` from it

| Step | Files |
|---|---|
| Table | \`src/db.ts\` |
| Route | \`src/routes/search.ts\` |
`;

const STORY = `The route is in \`src/routes/login.ts\`. It **checks the form**, then the password:

\`\`\`ts
const user = await users.find(form.email);
if (user === null) return refuse('unknown user');
\`\`\`

- wrong passwords are counted
- after five of them the account rests for a minute
`;

const SUMMARY = `import { nightPrice } from '../../theme.ts';

/** The total of a cart, in cents. */
export function total(prices: readonly number[]): number {
  return prices.reduce((sum, price) => sum + nightPrice(price), 0);
}
`;
const SUMMARY_TEST = `import { expect, it } from 'vitest';
import { total } from './summary.ts';

it('adds up', () => expect(total([1, 2])).toBe(3));
`;
const NIGHT = ':root {\n  --paper: #101418; /* almost black */\n  --ink: #e6e8ea;\n}\n';
const THEME = `/** The colours of the shop after dark. */
export const night = {
  text: '#e6e9ed',
  page: '#101418',
};
`;

/** Calls the REST API with the tests' token. With a model, scripts are stored there, so that prompts read well. */
export function apiOf(origin: string, model?: ScriptedModel) {
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, data?: object) => {
    const response = await callApi(origin, method, path, data);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return {
    get: (path: string) => send('GET', path),
    post: (path: string, data: object = {}) => send('POST', path, data),
    patch: (path: string, data: object) => send('PATCH', path, data),
    async stage(title: string, steps: Step[], more: object = {}): Promise<string> {
      const name = title.toLowerCase().replaceAll(/\W+/g, '-');
      model?.setScript(name, { steps });
      const text = model === undefined ? prompt({ steps }, title) : named(name, `${title}, please.`);
      const { stage } = await send('POST', '/api/stages', { projectId: 'shop', title, prompt: text, ...more });
      return stage.id;
    },
    start: (stageId: string) => send('POST', `/api/stages/${stageId}/start`),
  };
}

export interface Scene {
  /** The stages by what they show. */
  running: string;
  review: string;
  failed: string;
  /** The stages that ask. */
  approval: string;
  edit: string;
  question: string;
  plan: string;
}

/**
 * Creates something in every column, and a request of each kind.
 * @param isWhole whether a second request of a tool and a stage at its gate are there as well: two sessions more
 */
export async function makeScene(origin: string, model: ScriptedModel, isWhole = true): Promise<Scene> {
  const api = apiOf(origin, model);
  const story: Step = { thinking: 'The form first, then the route.', text: STORY };
  const before = 'Rules for passwords:\n\n- eight characters\n- a digit\n';
  const after = 'Rules for passwords:\n\n- twelve characters\n- not one of the known ones\n';
  const write = { name: 'Write', input: { file_path: 'notes.md', content: before } };
  const change = { name: 'Edit', input: { file_path: 'notes.md', old_string: before, new_string: after } };
  const review = await api.stage(
    'Dark mode',
    [
      { tools: [{ name: 'Read', input: { file_path: 'README.md' } }] },
      {
        tools: [
          { name: 'Edit', input: { file_path: 'README.md', old_string: '# Shop', new_string: '# Shop, by night' } },
          { name: 'Write', input: { file_path: 'src/theme.ts', content: THEME } },
        ],
      },
      {
        tools: [
          { name: 'Write', input: { file_path: 'src/pages/cart/summary.test.ts', content: SUMMARY_TEST } },
          { name: 'Write', input: { file_path: 'src/pages/cart/summary.ts', content: SUMMARY } },
          { name: 'Write', input: { file_path: 'src/styles/night.css', content: NIGHT } },
        ],
      },
      story,
    ],
    { priority: 1, permissionMode: 'acceptEdits' },
  );
  const done = await api.stage('Set up the repository', [
    { tools: [bash('mkdir src', 'Make the folder for the sources')] },
    { text: 'It is set up.' },
  ]);
  const running = await api.stage('Search index', [story, { text: 'Now the table.', hangs: true }], {
    pipeline: [
      { name: 'Design', prompt: 'Design it.', gate: 'none' },
      { name: 'Build', prompt: 'Build it.', gate: 'human' },
      { name: 'Verify', prompt: 'Verify it.', gate: 'none' },
    ],
  });
  const gate = await api.stage('Rate limits for the public API', [{ text: 'Designed.' }], {
    pipeline: [
      { name: 'Design', prompt: 'Design it.', gate: 'human' },
      { name: 'Build', prompt: 'Build it.', gate: 'none' },
    ],
  });
  const approval = await api.stage('Login form', [
    { text: 'I begin with the route.', tools: [bash('npm install left-pad', 'Install a package')] },
    { text: 'Done.' },
  ]);
  const edit = await api.stage('Password rules', [{ tools: [write] }, { tools: [change] }, { text: 'Done.' }], {
    priority: 0,
  });
  const question = await api.stage('Orders page', [
    { tools: [{ name: 'AskUserQuestion', input: { questions: QUESTIONS } }] },
    { text: 'Done.' },
  ]);
  const plan = await api.stage(
    'Product search',
    [
      { tools: [{ name: 'Write', input: { file_path: '{{planFile}}', content: PLAN } }] },
      { tools: [{ name: 'ExitPlanMode', input: { plan: PLAN } }] },
      { text: 'Done.' },
    ],
    { permissionMode: 'plan' },
  );
  const failed = await api.stage('Nightly export', [
    { error: { status: 400, type: 'invalid_request_error', message: 'the prompt is too long' } },
  ]);
  await api.stage('Audit log', [{ text: 'Done.' }], { priority: 1 });
  await api.stage('Footer with the version, the licence and a link to the documentation', [{ text: 'Done.' }]);
  await api.stage('Admin pages', [{ text: 'Done.' }], { dependsOn: [approval, plan] });
  await api.stage('Remove the old theme', [{ text: 'Done.' }], { held: true });
  const more = isWhole ? [gate, edit] : [];
  for (const stageId of [review, done, running, approval, question, plan, failed, ...more]) await api.start(stageId);
  await untilIn(origin, { [done]: 'needs-you' });
  const { pending } = await api.get(`/api/sessions/${done}/pending`);
  await api.post(`/api/sessions/${done}/approve`, { requestId: pending[0]?.requestId, decision: 'allow' });
  await untilIn(origin, { [done]: 'review', [review]: 'review', [failed]: 'needs-you' });
  if (isWhole) await untilIn(origin, { [gate]: 'needs-you' });
  await untilIn(origin, { [approval]: 'needs-you', [question]: 'needs-you', [plan]: 'needs-you' });
  await api.post(`/api/stages/${done}/complete`);
  await untilIn(origin, { [done]: 'done', [running]: 'running' });
  return { running, review, failed, approval, edit, question, plan };
}

/** Nine sessions of the real `claude` start at the same time. */
const SCENE_MS = 120_000;

async function untilIn(origin: string, wanted: Record<string, string>): Promise<void> {
  const columns = new Map<string, string>();
  const check = async () => {
    const { stages } = await (await callApi(origin, 'GET', '/api/board')).json();
    for (const { id, column } of stages) columns.set(id, column);
    return Object.entries(wanted).every(([stageId, column]) => columns.get(stageId) === column);
  };
  const options = { withinMs: SCENE_MS, everyMs: 200, lastSeen: () => columns };
  await until(`the columns are ${JSON.stringify(wanted)}`, check, options);
}
