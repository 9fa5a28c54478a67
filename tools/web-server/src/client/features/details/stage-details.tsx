import {
  type CommandInput,
  Effort,
  FinishWay,
  hasEnded,
  PermissionMode,
  RECEIPT_TEXTS,
  type Receipt,
  type ReceiptCall,
  receiptCounts,
  resumeCommand,
  type StageFieldHaving,
  type StageFieldWith,
  StageId,
  type StageView,
  shellQuote,
  stageFields,
  stageFieldsWith,
} from '@callboard/contract';
import { Autocomplete, Box, Button, Flex, Group, Loader, MultiSelect, NativeSelect, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ComponentType, type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { usageOf, useBudget } from '../../data/budget-data.ts';
import { budgetsDialog } from '../../data/dialogs.ts';
import { boardQuery, useCapabilities, valuesOf } from '../../data/queries.ts';
import { useSetMode, useSetModel } from '../../data/session-commands.ts';
import { useSetFinish, useSetResumes, useSetSandbox } from '../../data/stage-commands.ts';
import { useCommand } from '../../data/use-command.tsx';
import { client } from '../../lib/api-client.ts';
import { cost, count, exactTime } from '../../lib/format.ts';
import { isolationText, ranWithoutAsking, sandboxOf, sandboxOptions, sandboxValue } from '../../lib/isolation-text.ts';
import {
  effortOptions,
  FINISH_OPTIONS,
  FINISH_ORDER,
  FINISH_TEXTS,
  finishOfStage,
  modeLabel,
  modelOptions,
  modeOptionsOf,
  projectFinish,
} from '../../lib/stage-options.ts';
import { useCanCommand } from '../../stream/stream-context.tsx';
import { BudgetRow } from '../../ui/budget-meter.tsx';
import { CopyButton } from '../../ui/code.tsx';
import { PRIORITIES, priorityLabel } from '../../ui/marks.tsx';
import { CopyLine, ErrorNote } from '../../ui/notes.tsx';
import { FactList, Hint, Pane } from '../../ui/primitives.tsx';
import { isComposing } from '../../ui/shortcuts.tsx';
import css from '../../ui/stage-head.module.css';
import { Seen } from '../../ui/text.tsx';
import { PromptFiles } from '../transcript/item-parts.tsx';

/** How much the stage may spend. */
function BudgetOf({ stage }: { stage: StageView }) {
  const scope = { stageId: stage.id };
  return <BudgetRow budget={useBudget(scope)} change={() => budgetsDialog.open(scope)} />;
}

/** What a stage is, how it runs, and everything needed to find it outside of Callboard. */
export function StageDetails({ stage, RowsSlot }: { stage: StageView; RowsSlot: ComponentType<{ stage: StageView }> }) {
  const { worktree, session } = stage;
  const sessionId = session?.sessionId ?? null;
  const { data: hasLimits = false } = useQuery({ ...boardQuery, select: (view) => view.limits.limits !== null });
  return (
    <Pane className={css.details} aria-label="Details">
      <Facts title="Plan">
        <Row name="Title">
          <EditableText stage={stage} field="title" label="Title" maxLength={300} maw={520} isRequired />
        </Row>
        <Row name="Priority">
          <StagePriority stage={stage} />
        </Row>
        {stageFieldsWith('inDetails').map((key) => (
          <Row key={key} name={stageFields[key].label}>
            <StageText stage={stage} field={key} />
          </Row>
        ))}
        <Row name="Depends on">
          <StageDependencies stage={stage} />
        </Row>
        {stage.issue !== null && (
          <Row name="Issue">
            <a href={stage.issue.url} target="_blank" rel="noreferrer">
              #{stage.issue.number}
            </a>
          </Row>
        )}
        <Row name="Prompt">
          <span className="pre-wrap">{stage.prompt}</span>
          <PromptFiles stage={stage} />
        </Row>
      </Facts>
      <Facts title="Settings">
        {session === null ? (
          <Row name="Permission mode">{modeLabel(stage.permissionMode)}</Row>
        ) : (
          <Row name="Mode and model">
            <SessionSwitches stage={stage} session={session} />
          </Row>
        )}
        {stage.completedAt === null && (
          <Row name="At the end">
            <StageFinish stage={stage} />
          </Row>
        )}
        {stage.completedAt === null && hasLimits && (
          <Row name="At a usage limit">
            <StageAtLimit stage={stage} />
          </Row>
        )}
        <Row name="Budget">
          <BudgetOf stage={stage} />
        </Row>
        <Row name="Sandbox">
          <SandboxOf stage={stage} />
        </Row>
      </Facts>
      <Facts title="Files and session">
        <Row name="Stage">
          {stage.id} in {stage.projectId}
        </Row>
        {worktree !== null && (
          <>
            <Row name="Worktree">
              <CopyLine text={worktree.path} label="path" />
              <CopyLine text={`cd ${shellQuote(worktree.path)}`} label="command that goes there" />
            </Row>
            <Row name="Branch">
              <CopyLine text={worktree.branch} label="branch" />
              <CopyLine
                text={`git diff ${worktree.base}...${shellQuote(worktree.branch)}`}
                label="command that compares"
              />
              <CopyLine text={`git merge --no-ff ${shellQuote(worktree.branch)}`} label="command that merges" />
            </Row>
            <Row name="Base commit">
              <CopyLine text={worktree.base} label="base commit" />
            </Row>
          </>
        )}
        <RowsSlot stage={stage} />
        {sessionId !== null && worktree !== null && (
          <Row name="Session ID">
            <CopyLine text={sessionId} label="session ID" />
            <CopyLine text={resumeCommand(worktree.path, sessionId)} label="command that resumes" />
          </Row>
        )}
        {session !== null && (
          <>
            <Row name="Claude Code">{session.cliVersion ?? 'Version not known'}</Row>
            <Row name="Started">{exactTime(session.startedAt)}</Row>
            <Row name="Cost">{cost(usageOf(session).costUsd)}</Row>
            <TokensRow tokens={usageOf(session).tokens} />
            <Row name="Receipt">
              <StageReceipt stage={stage} />
            </Row>
          </>
        )}
        {stage.adopted !== null && (
          <Row name="Continues">
            <CopyLine text={stage.adopted.conversationId} label="ID of the conversation" /> from {stage.adopted.folder}
          </Row>
        )}
        {stage.fork !== null && (
          <Row name="Forked from">
            <Link to={`/stages/${stage.fork.stageId}`}>{stage.fork.title}</Link> ({stage.fork.stageId})
          </Row>
        )}
        {stage.source !== null && <Row name="Imported from">{stage.source}</Row>}
      </Facts>
    </Pane>
  );
}

/** Facts under a heading. */
const Facts = ({ title, children }: { title: string; children: ReactNode }) => (
  <Box component="section" aria-label={title} mb="xl">
    <Text component="h2" fw={600} mb="sm">
      {title}
    </Text>
    <FactList>{children}</FactList>
  </Box>
);

/** Changes a stage in its place. */
const useChangeStage = (stage: StageView, what: string) =>
  useCommand({
    run: (patch: CommandInput<'update_stage'>['patch']) => client.command('update_stage', { stageId: stage.id, patch }),
    failed: `The ${what} of ${stage.title} ${what === 'dependencies' ? 'were' : 'was'} not changed`,
    stageId: () => stage.id,
  });

function StagePriority({ stage }: { stage: StageView }) {
  const change = useChangeStage(stage, 'priority');
  const canCommand = useCanCommand();
  const { priority } = stage;
  const options = PRIORITIES.map(({ value, word }) => ({ value: String(value), label: word }));
  const own = { value: String(priority), label: `${priorityLabel(priority)} (${priority})` };
  return (
    <NativeSelect
      size="xs"
      w={140}
      aria-label="Priority"
      data={PRIORITIES.some(({ value }) => value === priority) ? options : [...options, own]}
      value={String(priority)}
      disabled={!canCommand || change.isPending}
      onChange={(event) => change.mutate({ priority: Number(event.currentTarget.value) })}
    />
  );
}

/** The stages that have to be done first. Once it was started, they no longer matter. */
function StageDependencies({ stage }: { stage: StageView }) {
  const change = useChangeStage(stage, 'dependencies');
  const canCommand = useCanCommand();
  const { data: stages = [] } = useQuery({ ...boardQuery, select: (view) => view.stages });
  if (stage.session !== null) return stage.dependsOn.length === 0 ? 'Nothing' : stage.dependsOn.join(', ');
  const data = stages
    .filter(({ projectId, id }) => projectId === stage.projectId && id !== stage.id)
    .map(({ id, title }) => ({ value: String(id), label: `${title} (${id})` }));
  return (
    <MultiSelect
      size="xs"
      maw={520}
      aria-label="Depends on"
      placeholder={stage.dependsOn.length === 0 ? 'Nothing' : ''}
      data={data}
      value={change.isPending ? (change.variables.dependsOn ?? []) : stage.dependsOn}
      disabled={!canCommand || change.isPending}
      searchable
      nothingFoundMessage="No results"
      onChange={(ids) => change.mutate({ dependsOn: ids.map((id) => StageId.parse(id)) })}
    />
  );
}

type Tokens = NonNullable<NonNullable<StageView['session']>['tokens']>;

const formatTokens = ({ input, output, cacheRead, cacheCreation }: Tokens) =>
  `${input.toLocaleString()} in, ${output.toLocaleString()} out, ${cacheRead.toLocaleString()} read from cache, ${cacheCreation.toLocaleString()} written to it`;

function TokensRow({ tokens }: { tokens: Tokens | null }) {
  return tokens === null ? null : <Row name="Tokens">{formatTokens(tokens)}</Row>;
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

type Session = NonNullable<StageView['session']>;

/** Mode, model and effort. Each shows the requested value until Claude, or after the end the server, confirms it. */
export function SessionSwitches({ stage, session }: { stage: StageView; session: Session }) {
  const setMode = useSetMode(stage.id, stage.title);
  const setModel = useSetModel(stage.id, stage.title);
  const isOver = hasEnded(session.state);
  const canCommand = useCanCommand();
  const isBusy = setMode.isPending || setModel.isPending;
  const shared = {
    size: 'xs' as const,
    disabled: session.state === 'starting' || !canCommand || isBusy || stage.completedAt !== null,
    title: isOver ? 'Applies when the session restarts' : undefined,
  };
  const mode = setMode.isPending ? setMode.variables : session.mode;
  const modes = modeOptionsOf(!isOver, mode, stage.permissionMode);
  const asked = setModel.isPending ? setModel.variables : {};
  const model = asked.model === undefined ? session.model : asked.model;
  const effort = asked.effort ?? session.effort;
  const capabilities = useCapabilities({ stageId: stage.id });
  const models = modelOptions(capabilities, model);
  return (
    <Group gap="xs" className={css.switches} aria-busy={isBusy}>
      <span role="status" className={css.confirming}>
        {isBusy && (
          <>
            <Loader size={12} color="gray" aria-hidden /> {isOver ? 'Saving' : 'Waiting for Claude to confirm'}
          </>
        )}
        {!isBusy && isOver && stage.completedAt === null && 'Applies when the session restarts'}
      </span>
      <NativeSelect
        {...shared}
        aria-label="Permission mode"
        data={modes.some(({ value }) => value === mode) ? modes : [{ value: mode, label: mode }, ...modes]}
        value={mode}
        onChange={(event) => setMode.mutate(PermissionMode.parse(event.currentTarget.value))}
      />
      <NativeSelect
        {...shared}
        aria-label="Model"
        data={models.options}
        value={models.value}
        onChange={(event) => setModel.mutate({ model: event.currentTarget.value || null })}
      />
      <NativeSelect
        {...shared}
        aria-label="Effort"
        data={effortOptions(capabilities, model, effort)}
        value={effort ?? ''}
        onChange={(event) => {
          const chosen = Effort.safeParse(event.currentTarget.value);
          if (chosen.success) setModel.mutate({ effort: chosen.data });
        }}
      />
    </Group>
  );
}

const LABELS = { yes: 'Continue automatically', no: 'Wait for a person' } as const;

/** What the stage does after a usage limit. */
function StageAtLimit({ stage }: { stage: StageView }) {
  const { data: resumes = true } = useQuery({ ...boardQuery, select: (view) => view.limits.settings.goesOnAtReset });
  const set = useSetResumes(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.goesOnAtReset : stage.goesOnAtReset;
  return (
    <Stack gap="xs" align="flex-start">
      <NativeSelect
        size="xs"
        aria-label="At a usage limit"
        data={[
          { value: '', label: `As the board: ${LABELS[resumes ? 'yes' : 'no'].toLowerCase()}` },
          { value: 'yes', label: LABELS.yes },
          { value: 'no', label: LABELS.no },
        ]}
        value={chosen === null ? '' : chosen ? 'yes' : 'no'}
        disabled={!canCommand || set.isPending}
        onChange={({ currentTarget: { value } }) =>
          set.mutate({ stageId: stage.id, goesOnAtReset: value === '' ? null : value === 'yes' })
        }
      />
    </Stack>
  );
}

/** What happens after the last phase, who decides that, and the stage's own choice. */
function StageFinish({ stage }: { stage: StageView }) {
  const { data: project } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === stage.projectId),
  });
  const set = useSetFinish(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.finish : stage.finish;
  const ofProject = project === undefined ? 'none' : projectFinish(project).way;
  return (
    <Stack gap="xs" align="flex-start">
      <p>{finishOfStage({ finish: chosen, pipeline: stage.pipeline }, project)}.</p>
      <NativeSelect
        size="xs"
        aria-label="At the end of this stage"
        data={[{ value: '', label: `As the project: ${FINISH_TEXTS[ofProject].toLowerCase()}` }, ...FINISH_OPTIONS]}
        value={chosen ?? ''}
        disabled={!canCommand || set.isPending}
        onChange={({ currentTarget: { value } }) =>
          set.mutate({ stageId: stage.id, finish: FinishWay.safeParse(value).data ?? null })
        }
      />
      <Hint>{FINISH_ORDER}</Hint>
    </Stack>
  );
}

/** A text of a stage that need not be there. */
function StageText({ stage, field }: { stage: StageView; field: StageFieldWith<'inDetails'> }) {
  const { label, chip, maxLength }: StageFieldHaving<'label' | 'chip'> = stageFields[field];
  const { data: known = [] } = useQuery({ ...boardQuery, select: valuesOf(field) });
  return (
    <EditableText
      stage={stage}
      field={field}
      label={label}
      maxLength={maxLength}
      placeholder={chip.none}
      suggestions={chip.suggests ? known : []}
      maw={260}
    />
  );
}

interface EditableTextProps {
  stage: StageView;
  field: 'title' | StageFieldWith<'inDetails'>;
  label: string;
  maxLength: number | undefined;
  maw: number;
  placeholder?: string;
  suggestions?: readonly string[];
  isRequired?: boolean;
}

const NO_SUGGESTIONS: readonly string[] = [];

/** What is typed is sent on Enter, on leaving the field, or with the choice of a value that another stage has. */
function EditableText(props: EditableTextProps) {
  const { stage, field, label, maxLength, maw, placeholder, suggestions = NO_SUGGESTIONS, isRequired = false } = props;
  const stored = stage[field] ?? '';
  const [typed, setTyped] = useState<string | null>(null);
  const canCommand = useCanCommand();
  const change = useChangeStage(stage, label.toLowerCase());
  const send = (entered: string) => {
    const text = entered.trim();
    if (text === stored || (isRequired && text === '') || change.isPending) setTyped(null);
    else change.mutate({ [field]: text || null }, { onSettled: () => setTyped(null) });
  };
  return (
    <Autocomplete
      aria-label={label}
      {...(placeholder !== undefined && { placeholder })}
      size="xs"
      maw={maw}
      {...(maxLength !== undefined && { maxLength })}
      data={[...suggestions]}
      value={typed ?? stored}
      disabled={!canCommand || change.isPending}
      onChange={setTyped}
      onOptionSubmit={send}
      onBlur={() => typed !== null && send(typed)}
      onKeyDown={(event) => {
        const isEnter = event.key === 'Enter' && !isComposing(event.nativeEvent);
        if (isEnter && typed !== null && !event.defaultPrevented) send(typed);
        if (event.key === 'Escape') setTyped(null);
      }}
    />
  );
}

const receiptQuery = ({ id, session }: StageView) =>
  queryOptions({
    queryKey: ['receipt', id, session?.lastTurn?.at, session?.state],
    queryFn: ({ signal }) => client.command('get_receipt', { stageId: id }, { signal }),
    staleTime: 0,
  });

/** What people consented to in this stage. It is read when somebody wants to see it: it goes through the whole transcript. */
function StageReceipt({ stage }: { stage: StageView }) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, refetch } = useQuery({ ...receiptQuery(stage), enabled: isOpen });
  if (!isOpen)
    return (
      <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
        Show the receipt
      </Button>
    );
  if (error !== null)
    return <ErrorNote lead="The receipt could not be made." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loader size="sm" color="gray" role="img" aria-label="Making the receipt" />;
  const { receipt, markdown } = data;
  return (
    <Flex component="section" direction="column" gap="sm" fz="row" aria-label="Receipt">
      <Group justify="space-between" gap="4px 8px">
        <span>
          {count(receipt.total, 'tool call')} in {count(receipt.turns.length, 'turn')}
        </span>
        <Flex component="span" align="center" wrap="wrap" c="dimmed" gap="sm">
          Markdown <CopyButton label="Copy as Markdown" read={() => markdown} />
          JSON <CopyButton label="Copy as JSON" read={() => JSON.stringify(receipt, null, 2)} />
        </Flex>
      </Group>
      <Totals totals={receipt.totals} />
      {receipt.gaps.length > 0 && (
        <Flex component="ul" direction="column" gap={2} c="dimmed" aria-label="Not known">
          {receipt.gaps.map((gap) => (
            <li key={gap}>{gap}</li>
          ))}
        </Flex>
      )}
      {receipt.turns.map((turn) => (
        <Turn key={turn.number} turn={turn} />
      ))}
      {receipt.others.length > 0 && (
        <details>
          <summary>Besides tool calls: {count(receipt.others.length, 'decision')}</summary>
          <Flex component="ul" direction="column" gap={2} py="xs" pl="lg">
            {receipt.others.map(({ kind, asked, outcome, by, at }) => (
              <li key={`${at} ${asked}`} title={exactTime(at)}>
                <code>{asked === '' ? kind : asked}</code> {outcome}
                {by !== null && ` by ${by}`}
              </li>
            ))}
          </Flex>
        </details>
      )}
    </Flex>
  );
}

function Totals({ totals }: { totals: Receipt['totals'] }) {
  return (
    <Flex component="ul" direction="column" gap={2}>
      {receiptCounts(totals).map(({ reason, count, text }) => (
        <li key={reason} data-reason={reason}>
          <span className="figures">{count}</span> {text}
        </li>
      ))}
    </Flex>
  );
}

function Turn({ turn: { number, at, message, by, calls } }: { turn: Receipt['turns'][number] }) {
  if (calls.length === 0) return null;
  return (
    <details>
      <summary title={exactTime(at)}>
        Turn {number}: {count(calls.length, 'call')}
        <Text span c="dimmed" inherit>
          {' '}
          {message === null ? 'begun by Claude Code' : `${by ?? 'Callboard'}: ${message}`}
        </Text>
      </summary>
      <Flex component="ul" direction="column" gap={2} py="xs" pl="lg">
        {calls.map((call) => (
          <li key={call.toolUseId}>
            <code>{call.asked}</code>{' '}
            <Text span inherit c="dimmed" data-reason={call.reason}>
              {callReason(call)}
            </Text>
            {call.changed !== undefined && (
              <>
                {call.changed.hook === null ? '; a hook' : `; the hook ${call.changed.hook}`} changed it from{' '}
                <code>{call.changed.from}</code>
              </>
            )}
          </li>
        ))}
      </Flex>
    </details>
  );
}

/** Why one call ran or did not: who, by which rule, with which words. */
export function callReason({ reason, by, detail }: ReceiptCall): string {
  if (reason === 'rule' && detail !== null)
    return `allowed by a rule, covered by ${detail}${by === null ? '' : `, which ${by} gave`}`;
  const text = RECEIPT_TEXTS[reason];
  const who = by === null ? text : text.replace('a person', by);
  return detail === null ? who : `${who} (${detail})`;
}

/** The session's isolation and its reason, and the stage's own sandbox switch. */
function SandboxOf({ stage }: { stage: StageView }) {
  const { data: ofProject = null } = useQuery({
    ...boardQuery,
    select: (view) => view.projects.find(({ id }) => id === stage.projectId)?.settings.sandbox,
  });
  const set = useSetSandbox(stage.title);
  const canCommand = useCanCommand();
  const chosen = set.isPending ? set.variables.sandbox : stage.sandbox;
  return (
    <Stack gap="xs" align="flex-start">
      {stage.session !== null && <Isolation session={stage.session} />}
      <NativeSelect
        size="xs"
        aria-label="Sandbox of this stage"
        data={sandboxOptions(ofProject)}
        value={sandboxValue(chosen)}
        disabled={!canCommand || set.isPending}
        onChange={(event) => set.mutate({ stageId: stage.id, sandbox: sandboxOf(event.currentTarget.value) })}
      />
      <Hint>
        In the sandbox, commands cannot approve their own requests, and ask before they use the network. Turn it off for
        work that needs a database or Docker on this machine. Takes effect at the next start.
      </Hint>
    </Stack>
  );
}

function Isolation({ session: { isolation, sandboxAllowed } }: { session: NonNullable<StageView['session']> }) {
  const { label, why, means, next } = isolationText(isolation);
  const ran = ranWithoutAsking(sandboxAllowed);
  return (
    <>
      <p>
        <strong>{label}.</strong> <Seen text={why} kind="prose" /> {means} {next}
      </p>
      {ran !== '' && <p>{ran}, because they ran in the sandbox.</p>}
    </>
  );
}
