import type { PendingRequest, SandboxFailure, StageId } from '@callboard/contract';
import { Button, Stack, Text } from '@mantine/core';
import { IconChevronRight, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { useId, useMemo, useState } from 'react';
import { boardQuery, stageOf } from '../../data/queries.ts';
import { useSetSandbox } from '../../data/stage-commands.ts';
import { count, exactDuration } from '../../lib/format.ts';
import { memoizeByObject } from '../../lib/memoize.ts';
import { useOpen } from '../../lib/session-ui.ts';
import { field, filePath, toolText } from '../../lib/tool-text.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { CodeBlock, languageOf, lineDiff } from '../../ui/code.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { plainOutput } from '../../ui/output-screen.tsx';
import { Hint, IconLine } from '../../ui/primitives.tsx';
import { exactOnHover, Seen, TimeSince } from '../../ui/text.tsx';
import { ChangedInput, ToolInputView } from '../../ui/tool-input.tsx';
import { DecisionLine, LongText, useTranscriptDeps } from './item-parts.tsx';
import { ItemView } from './item-view.tsx';
import css from './transcript.module.css';
import { lookupsKey } from './transcript-find.tsx';
import { countSteps, inputOf, itemKeys, type ToolItem, type TranscriptItem } from './transcript-items.ts';

/** A tool call on one line that can be opened; a failed one opens by default. Its request, if any, is below. */
export function ToolCard({ tool }: { tool: ToolItem }) {
  const { folder, requestsOf } = useTranscriptDeps();
  const isMeant = tool.result?.stopped !== undefined || tool.decisions.some(({ outcome }) => outcome === 'denied');
  const failed = tool.result?.isError === true && !isMeant;
  const isBlocked = tool.result?.sandboxFailure?.isCertain === true;
  const [open, setOpen] = useOpen(tool.use.toolUseId, failed || isBlocked);
  const bodyId = useId();
  const { verb, object, isCode } = toolText(tool.use.toolName, inputOf(tool), folder);
  return (
    <div className={css.indent}>
      <div>
        <button
          type="button"
          className={clsx(css.opener, css.tool)}
          aria-expanded={open}
          aria-controls={bodyId}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={16} aria-hidden />
          <Text span inherit fw={500} flex="none">
            {verb}
          </Text>
          <span className={css.object} data-code={isCode} title={object}>
            {object}
          </span>
          <Outcome tool={tool} failed={failed} />
        </button>
        <div id={bodyId} hidden={!open} className={open ? clsx(css.opened, css.toolBody) : undefined}>
          {open && <ToolBody tool={tool} folder={folder} />}
        </div>
      </div>
      {tool.decisions.map((decision) => (
        <div key={decision.requestId} className={css.below}>
          <DecisionLine decision={decision} asked={tool.use.input} />
        </div>
      ))}
      {requestsOf(tool.use.toolUseId)}
      {!open && <InnerRequests items={tool.children} />}
    </div>
  );
}

/** A subagent's requests stay visible while its steps are folded. */
function InnerRequests({ items }: { items: readonly TranscriptItem[] }) {
  const { requestsOf } = useTranscriptDeps();
  return items.map((item) => item.kind === 'tool' && requestsOf(item.use.toolUseId));
}

function Outcome({ tool, failed }: { tool: ToolItem; failed: boolean }) {
  const { requestAt } = useTranscriptDeps();
  const steps = countSteps(tool.children);
  const progress = tool.result === null ? callProgress(tool, requestAt) : toolOutcome(tool);
  const text = [steps > 0 ? count(steps, 'step') : '', doneElsewhere(tool), progress];
  return (
    <span className={css.outcome} data-tone={failed ? 'fail' : undefined}>
      {text
        .filter((word) => word !== '')
        .map((word) => (
          <span key={word}>{word}</span>
        ))}
      <LineChanges tool={tool} />
      <span>
        {progress === 'running' ? (
          <TimeSince at={tool.use.at} />
        ) : (
          <span {...exactOnHover(tool.use.at)}>{toolDuration(tool)}</span>
        )}
      </span>
    </span>
  );
}

/** "+12 −3" behind an edit that was made. */
function LineChanges({ tool }: { tool: ToolItem }) {
  const { added, removed } = lineChanges(tool);
  return (
    <>
      {added > 0 && <span>+{added}</span>}
      {removed > 0 && <span>−{removed}</span>}
    </>
  );
}

function ToolBody({ tool, folder }: { tool: ToolItem; folder: string | null }) {
  return (
    <>
      <div>
        <ToolInputView toolName={tool.use.toolName} input={inputOf(tool)} folder={folder} />
      </div>
      {tool.changed !== null && (
        <ChangedInput toolName={tool.use.toolName} hook={tool.changed.hook} from={tool.use.input} folder={folder} />
      )}
      {tool.children.length > 0 && <Steps items={tool.children} />}
      {tool.result !== null && <ToolResult tool={tool} result={tool.result} />}
      {tool.result?.sandboxFailure != null && (
        <SandboxBlocked stageId={tool.result.stageId} failure={tool.result.sandboxFailure} />
      )}
    </>
  );
}

const NEWEST = 30;

/** A subagent's steps; the newest, if there are many. */
function Steps({ items }: { items: readonly TranscriptItem[] }) {
  const [shown, setShown] = useState(NEWEST);
  const keys = itemKeys(items);
  const hidden = Math.max(0, items.length - shown);
  return (
    <div className={css.children}>
      {hidden > 0 && (
        <Button size="compact-xs" variant="subtle" onClick={() => setShown(shown + NEWEST * 5)}>
          Show earlier steps ({hidden})
        </Button>
      )}
      {items.slice(hidden).map((item, index) => (
        <ItemView key={keys[hidden + index]} item={item} isStep />
      ))}
    </div>
  );
}

interface LineCardProps {
  /** The key under which its open state is stored. */
  openKey: string;
  verb: string;
  object: string;
  items: readonly TranscriptItem[];
}

function LineCard({ openKey, verb, object, items }: LineCardProps) {
  const [open, setOpen] = useOpen(openKey, false);
  return (
    <div className={css.indent}>
      <div>
        <button
          type="button"
          className={clsx(css.opener, css.tool)}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <IconChevronRight size={16} aria-hidden />
          <Text span inherit fw={500} flex="none">
            {verb}
          </Text>
          <span className={css.object} data-code>
            {object}
          </span>
        </button>
        {open && (
          <div className={clsx(css.opened, css.toolBody)}>
            <Steps items={items} />
          </div>
        )}
      </div>
    </div>
  );
}

/** Several read-only calls on one line. */
export function LookupsCard({ tools }: { tools: ToolItem[] }) {
  const { folder } = useTranscriptDeps();
  const objects = tools.map((tool) => toolText(tool.use.toolName, inputOf(tool), folder).object);
  return <LineCard openKey={lookupsKey(tools)} verb={lookupsText(tools)} object={objects.join(', ')} items={tools} />;
}

/** The steps of a subagent whose call is not loaded. */
export function StepsCard({ toolUseId, items }: { toolUseId: string; items: readonly TranscriptItem[] }) {
  const text = `${count(countSteps(items), 'step')}, begun earlier`;
  return <LineCard openKey={toolUseId} verb="Agent" object={text} items={items} />;
}

/** Calls that only read, and subagents: the CLI starts consecutive ones together. */
const BATCH = [
  'Read',
  'Glob',
  'Grep',
  'LS',
  'NotebookRead',
  'ToolSearch',
  'WebFetch',
  'WebSearch',
  'AskUserQuestion',
  'Agent',
  'Task',
];
/** Calls that change files: each waits for all calls before it, and all calls after it wait for it. */
const ALONE = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit'];

type Beside = 'together' | 'alone' | 'unknown';

function beside({ use }: ToolItem, request: PendingRequest | undefined): Beside {
  if (BATCH.includes(use.toolName)) return 'together';
  if (ALONE.includes(use.toolName)) return 'alone';
  return use.toolName === 'Bash' && request !== undefined ? besideOfCommand(request) : 'unknown';
}

/** A command that only reads is asked for because of its path; the CLI then suggests a rule for reading there. */
function besideOfCommand({ suggestions }: PendingRequest): Beside {
  return JSON.stringify(suggestions).includes('"toolName":"Read"') ? 'together' : 'alone';
}

/**
 * How far a call without a result has got. The CLI does not report when a call begins, so this says only what is
 * certain: read-only calls of one message run at the same time, all others one after another; a command may be either.
 */
export function callProgress(tool: ToolItem, requestAt: (toolUseId: string) => PendingRequest | undefined): string {
  const request = (one: ToolItem) => requestAt(one.use.toolUseId);
  const asks = (one: ToolItem): boolean =>
    request(one) !== undefined || one.children.some((c) => c.kind === 'tool' && asks(c));
  if (asks(tool)) return 'waits for you';
  if (tool.decisions.some(({ denial }) => denial?.isDeferred === true)) return 'deferred by a hook';
  if (tool.isCutOff) return 'cut off';
  if (tool.children.length > 0) return 'running';
  const before = tool.before.filter((one) => one.result === null && !one.isCutOff);
  if (before.length === 0) return 'running';
  const ways = [tool, ...before].map((one) => beside(one, request(one)));
  if (ways.includes('alone')) return 'not started yet';
  return ways.includes('unknown') ? 'no result yet' : 'running';
}

/** Who changed or allowed the call, if it was nobody here. */
export function doneElsewhere({ result, changed }: ToolItem): string {
  const isAllowed = result?.allowedBy === 'hook';
  if (changed !== null) return isAllowed ? 'changed and allowed by a hook' : 'changed by a hook';
  return isAllowed ? 'allowed by a hook' : '';
}

/** The outcome of a tool call in a word or two, for the end of its line. */
export function toolOutcome({ result, decisions }: ToolItem): string {
  if (result === null) return '';
  if (decisions.some((decision) => decision.outcome === 'denied')) return 'denied';
  if (result.stopped !== undefined) return 'stopped';
  if (result.sandboxFailure?.isCertain === true) return 'blocked by the sandbox';
  if (result.isError) return 'failed';
  return '';
}

/** The lines that a call added and removed, as far as its input tells; none if it did not succeed. */
export const lineChanges = memoizeByObject((tool: ToolItem) => {
  const { use, result, decisions } = tool;
  const input = inputOf(tool);
  const isDone = result !== null && !result.isError && !decisions.some((decision) => decision.outcome === 'denied');
  if (isDone && use.toolName === 'Write') return { added: lineDiff('', field(input, 'content')).length, removed: 0 };
  if (!isDone || use.toolName !== 'Edit') return { added: 0, removed: 0 };
  const lines = lineDiff(field(input, 'old_string'), field(input, 'new_string'));
  return {
    added: lines.filter((line) => line.kind === 'added').length,
    removed: lines.filter((line) => line.kind === 'removed').length,
  };
});

/** How long the call took, without waiting for a person; empty while it runs, or if it took no time. */
function toolDuration({ use, result, decisions }: ToolItem): string {
  if (result === null) return '';
  const waited = decisions.reduce((sum, decision) => sum + decision.waitedMs, 0);
  const took = Date.parse(result.at) - Date.parse(use.at) - waited;
  return took < 50 ? '' : exactDuration(took);
}

/** "Read 3 files, searched 2 times". */
function lookupsText(tools: readonly ToolItem[]): string {
  const of = (...names: string[]) => tools.filter((tool) => names.includes(tool.use.toolName)).length;
  const read = of('Read', 'NotebookRead');
  const listed = of('LS');
  const searched = tools.length - read - listed;
  const text = [
    read > 0 ? `read ${count(read, 'file')}` : '',
    listed > 0 ? `listed ${count(listed, 'folder')}` : '',
    searched > 0 ? `searched ${count(searched, 'time')}` : '',
  ];
  const sentence = text.filter((word) => word !== '').join(', ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** What the sandbox blocked, with a button that turns the sandbox off for the stage. */
function SandboxBlocked({ stageId, failure }: { stageId: StageId; failure: SandboxFailure }) {
  const { data: stage } = useQuery({ ...boardQuery, select: stageOf(stageId) });
  const set = useSetSandbox(stage?.title ?? stageId);
  const canCommand = useCanCommand();
  const { blocked, hint } = blockedText(failure.detail);
  return (
    <IconLine role="note">
      <IconShieldCheck size={16} aria-hidden />
      <Stack gap="xs" align="flex-start">
        <p>
          {failure.isCertain ? 'The sandbox blocked this' : 'The sandbox may be why this failed'}:{' '}
          <Seen text={blocked} kind="command" />. {hint}
        </p>
        {stage?.sandbox === false ? (
          <p>The sandbox is off for this stage from its next start.</p>
        ) : (
          <Button
            variant="default"
            size="compact-sm"
            disabled={!canCommand}
            loading={set.isPending}
            onClick={() => set.mutate({ stageId, sandbox: false })}
          >
            Turn the sandbox off for this stage
          </Button>
        )}
      </Stack>
    </IconLine>
  );
}

const NETWORK = /^deny network-outbound (\S+)(?: \((.*)\))?$/;
/** Matches errors of a local server that did not answer. */
const LOCAL = /refused|failed to connect/i;
const MAX = 5;

const ASKED_AGAIN = 'If the command runs again, you are asked about a host again.';
const OWN_NETWORK =
  'Each command in the sandbox has its own network, so it cannot reach a server that another command started.';

/** What the sandbox blocked, from Claude Code's list, and what to do besides turning the sandbox off. */
export function blockedText(violations: string): { blocked: string; hint: string } {
  const lines = violations.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  const isNetwork = lines.length > 0 && lines.every((line) => NETWORK.test(line));
  const reported = [...new Set(lines.map((line) => NETWORK.exec(line)?.[1] ?? line))];
  const shown = reported.slice(0, MAX).join(', ');
  const blocked = reported.length > MAX ? `${shown} and ${reported.length - MAX} more` : shown;
  return {
    blocked: blocked === '' ? 'something it does not name' : blocked,
    hint: hintFor(lines, isNetwork),
  };
}

function hintFor(lines: readonly string[], isNetwork: boolean): string {
  if (isNetwork) return ASKED_AGAIN;
  return lines.some((line) => LOCAL.test(line)) ? OWN_NETWORK : '';
}

interface ToolResultProps {
  tool: ToolItem;
  result: NonNullable<ToolItem['result']>;
}

/** A tool call's result; for a subagent its answer, unless that is shown above as its last step. */
function ToolResult({ tool, result }: ToolResultProps) {
  const report = useMemo(
    () => (isSubagent(tool.use.toolName) ? subagentReport(result.text) : null),
    [tool.use.toolName, result.text],
  );
  if (report === null) return <Output tool={tool} result={result} />;
  const last = tool.children.at(-1);
  const isSaidAbove = last?.kind === 'entry' && last.entry.kind === 'text' && last.entry.text.trim() === report.trim();
  return isSaidAbove ? null : (
    <div>
      <span className="visually-hidden">Result</span>
      <LongText id={tool.use.toolUseId} text={report}>
        {(shown) => <Markdown text={shown} />}
      </LongText>
    </div>
  );
}

const isSubagent = (toolName: string) => toolName === 'Agent' || toolName === 'Task';

function Output({ tool, result }: ToolResultProps) {
  const { toolName, input, toolUseId } = tool.use;
  const language = toolName === 'Read' && !result.isError ? languageOf(filePath(input)) : null;
  const { code, firstLine } = useMemo(() => resultCode(toolName, plainOutput(result.text)), [toolName, result.text]);
  return (
    <div>
      <span className="visually-hidden">Result</span>
      {firstLine !== null && firstLine > 1 && (
        <Hint component="div" size="xs">
          from line {firstLine}
        </Hint>
      )}
      <LongText id={toolUseId} text={code === '' ? '(no output)' : code}>
        {(shown) => <CodeBlock text={shown} language={language} />}
      </LongText>
    </div>
  );
}

/** Matches a file's line as `Read` returns it, after its number. */
const NUMBERED = /^ *(\d+)[→\t](.*)$/;

/** The code in a tool's result, and the number of its first line; null if there is none. */
export function resultCode(toolName: string, text: string): { code: string; firstLine: number | null } {
  const whole = { code: text.replace(/^<tool_use_error>(.*)<\/tool_use_error>$/s, '$1'), firstLine: null };
  if (toolName !== 'Read') return whole;
  const lines = text.replace(/\n*<system-reminder>.*$/s, '').split('\n');
  const first = NUMBERED.exec(lines[0] ?? '');
  const parts = lines.map((line) => NUMBERED.exec(line)?.[2]);
  if (first === null || parts.includes(undefined)) return whole;
  return { code: parts.join('\n'), firstLine: Number(first[1]) };
}

/** The line before a report, by which Claude Code tells its model that it comes from a subagent. */
const FRAME = /^\[Subagent hand-back\] .*:$/;
const INDENT = '  ';
/** What Claude Code adds for its model: how to continue the subagent, and its usage. */
const TRAILER = /^(agentId: [^\n]*)?\n?(<usage>[^<]*<\/usage>)?$/;

/** A subagent's answer, taken from the result of its call; null if the result has an unknown form. */
export function subagentReport(text: string): string | null {
  const [frame = '', ...lines] = text.split('\n');
  if (!FRAME.test(frame)) return null;
  const end = lines.findIndex((line) => !line.startsWith(INDENT));
  const report = end === -1 ? lines : lines.slice(0, end);
  const trailer = end === -1 ? '' : lines.slice(end).join('\n');
  if (report.length === 0 || !TRAILER.test(trailer)) return null;
  return report.map((line) => line.slice(INDENT.length)).join('\n');
}
