import { stageFields, stageFieldsWith } from '@callboard/contract';
import { argument, type Flag, onOff, option } from '../command-line/flags.ts';
import { apiFlags } from '../terminal/terminal-flags.ts';
import type { Command } from './command.ts';

// What they run is loaded when it runs: `start` needs none of it.

const STAGE_HELP = 'The stage, by its id, the beginning of it, or the number of STAGE-<n>.';
const stageArgument: Flag = { kind: 'argument', name: 'stage', placeholder: 'STAGE', required: true, help: STAGE_HELP };
const requestArgument = argument('request', 'REQUEST', 'The request, by its id or the beginning of it.');

const ls: Command = {
  name: 'ls',
  summary: 'Lists the stages by column.',
  flags: [
    option('project', 'PROJECT', 'Only this project, by id or name.'),
    onOff('all', 'List all done stages too, not only the newest.'),
    onOff('ids', 'Print ids only, one on each line.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/stages.ts')).listStages(invocation),
};

const startStage: Command = {
  name: 'start-stage',
  summary: 'Starts a stage, or creates one from a prompt and starts it.',
  flags: [
    argument('stage', 'STAGE', `${STAGE_HELP} Without it, a stage is created.`),
    option('prompt', 'TEXT', 'The first message to Claude; - reads it from stdin, as does leaving it out in a pipe.'),
    option('title', 'TEXT', 'The title of the new stage; the beginning of the prompt otherwise.'),
    option(
      'project',
      'PROJECT',
      'The project of the new stage, by id, name or path; a path of a repository becomes a project. The one around the current folder otherwise.',
    ),
    ...stageFieldsWith('flag').map((key) => {
      const { name, placeholder, help } = stageFields[key].flag;
      return option(name, placeholder, help);
    }),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/stages.ts')).startStage(invocation),
};

const pending: Command = {
  name: 'pending',
  summary: 'Lists the requests that wait for an answer.',
  flags: [
    option('stage', 'STAGE', 'Only those of this stage.'),
    onOff('ids', 'Print ids only, one on each line.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/approvals.ts')).listPending(invocation),
};

const allow: Command = {
  name: 'allow',
  summary: 'Shows a request whole and allows it; accepts a plan.',
  flags: [
    { ...requestArgument, help: `${requestArgument.help} Without it, the only open one, after a question.` },
    option(
      'mode',
      'MODE',
      'After a plan: default (ask for each edit) or acceptEdits (edit freely); default otherwise.',
    ),
    onOff('hosts', 'Let the command reach the hosts that its request names, while it runs.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/approvals.ts')).allow(invocation),
};

const deny: Command = {
  name: 'deny',
  summary: 'Shows a request whole and denies it; sends a plan back; declines a question.',
  flags: [
    { ...requestArgument, help: `${requestArgument.help} Without it, the only open one, after a question.` },
    option('reason', 'TEXT', 'What Claude reads as the reason; - reads it from stdin, as for comments on a plan.'),
    onOff('interrupt', 'End the turn as well; Claude then reads no reason.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/approvals.ts')).deny(invocation),
};

const answer: Command = {
  name: 'answer',
  summary: 'Answers the questions of a request, or fills in a form.',
  flags: [
    { ...requestArgument, help: `${requestArgument.help} Without it, the only open one.` },
    {
      kind: 'argument',
      name: 'answers',
      placeholder: 'ANSWER',
      repeatable: true,
      help: 'One for each question, in order: the number or label of an option, several with commas, or words. For a form: field=value. In a terminal, what is left out is asked.',
    },
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/approvals.ts')).answer(invocation),
};

const say: Command = {
  name: 'say',
  summary: 'Sends Claude a message.',
  flags: [
    stageArgument,
    argument('message', 'MESSAGE', 'The text; - reads it from stdin, as does leaving it out in a pipe.'),
    option(
      'mode',
      'MODE',
      'While Claude works: append (to the queue; the default), replace (the queue), steer (into the turn) or now (interrupt).',
    ),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/messages.ts')).say(invocation),
};

const watch: Command = {
  name: 'watch',
  summary: 'Shows a stage live, and answers its requests with keys; Ctrl-C leaves.',
  flags: [stageArgument, ...apiFlags],
  run: async (invocation) => (await import('../terminal/watch/watch.ts')).watch(invocation),
};

const advance: Command = {
  name: 'advance',
  summary: 'Starts the next phase of a stage that is waiting for a person between phases.',
  flags: [stageArgument, ...apiFlags],
  run: async (invocation) => (await import('../terminal/stages.ts')).advance(invocation),
};

const complete: Command = {
  name: 'complete',
  summary: 'Marks a stage done; on request merges its work first.',
  flags: [
    stageArgument,
    option('merge', 'METHOD', 'Merge its commits first: merge, squash or rebase.'),
    option('commit', 'MESSAGE', 'With --merge: commit what is uncommitted first, with this message.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/stages.ts')).complete(invocation),
};

const rules: Command = {
  name: 'rules',
  summary: 'Lists the rules by which Claude does not ask, adds one, or removes one.',
  flags: [
    argument('action', 'ACTION', 'list (as without it), add or remove.'),
    argument('rule', 'RULE', "For add: the rule, like 'Bash(npm test)'. For remove: its id or the beginning of it."),
    option('stage', 'STAGE', 'The stage in which it applies.'),
    option('project', 'PROJECT', 'The project in which it applies, by id or name.'),
    option('for', 'TIME', 'How long it applies: 30m, 2h or 7d. For good without it.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/rules.ts')).rules(invocation),
};

const importFrom: Command = {
  name: 'import',
  summary: 'Shows the tasks of vibe-kanban, asks, and makes stages of them.',
  flags: [
    { kind: 'argument', name: 'source', placeholder: 'SOURCE', required: true, help: 'vibe-kanban.' },
    argument('file', 'FILE', 'Its database; the one in its usual folder otherwise.'),
    onOff('all', 'Import done and cancelled tasks too.'),
    onOff('yes', 'Import without a question.'),
    ...apiFlags,
  ],
  run: async (invocation) => (await import('../terminal/import.ts')).importStages(invocation),
};

/** The board from a terminal that is logged in. */
export const apiCommands: readonly Command[] = [
  ls,
  startStage,
  pending,
  allow,
  deny,
  answer,
  say,
  watch,
  advance,
  complete,
  rules,
  importFrom,
];
