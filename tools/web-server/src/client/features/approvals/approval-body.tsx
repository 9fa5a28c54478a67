import {
  blockedPathText,
  type PendingRequest,
  type Risk,
  type RiskCode,
  type TranscriptEntry,
  visibleText,
} from '@callboard/contract';
import { Button, type ButtonProps, Checkbox, Flex, Group, Stack, Text } from '@mantine/core';
import {
  type Icon,
  IconAlertTriangle,
  IconCalendarTime,
  IconChevronRight,
  IconFolderShare,
  IconGitBranch,
  IconGitFork,
  IconKey,
  IconPackageImport,
  IconPencil,
  IconPlayerStop,
  IconShieldOff,
  IconTrash,
  IconWorld,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../lib/api-client.ts';
import { asSentence } from '../../lib/format.ts';
import { toolText } from '../../lib/tool-text.ts';
import { ErrorBoundary, lazyComponent } from '../../ui/error-boundary.tsx';
import { ErrorNote } from '../../ui/notes.tsx';
import { Hint, IconLine, Indented } from '../../ui/primitives.tsx';
import { KeyHint, useShortcuts } from '../../ui/shortcuts.tsx';
import { Seen } from '../../ui/text.tsx';
import { ChangedInput } from '../../ui/tool-input.tsx';
import { useRuleOffer } from '../rules/rule-offer.tsx';
import { AllowEdits, AlwaysAllow, alwaysAllowOffers, editsOffer } from './always-allow.tsx';
import { AskedInput } from './asked-input.tsx';
import { useDecisionGuard, useKeysWork } from './decision-slot.tsx';
import { changedInput, editableText, editProblem } from './edited-input.ts';
import css from './request.module.css';
import { useDraft } from './request-drafts.ts';
import { type FormProps, useFolder } from './use-request.ts';
import { isRefusedInput, RequestMeta, VerdictActions } from './verdict-actions.tsx';

const InputEditor = lazyComponent(() => import('./input-editor.tsx'));

type Panel = 'always' | 'edits' | 'steps';

/** A tool call that waits for permission: what would run, on what, what is at risk, and why Claude Code asks. */
export function ApprovalBody({ request, approve }: FormProps) {
  const folder = useFolder(request.stageId);
  const [{ edited, withHosts }, change] = useDraft(request);
  const sent = approve.isPending || approve.isSuccess;
  const isBroken = edited !== null && editProblem(request, edited) !== null;
  const [open, setOpen] = useState<Panel | null>(null);
  const [isAsked, setAsked] = useState(false);
  const toggle = (what: Panel) => setOpen(open === what ? null : what);
  const toggleEditor = () => {
    setAsked(edited === null);
    change({ edited: edited === null ? editableText(request) : null });
  };
  const keyWorks = useEditKey(toggleEditor, sent);
  const updatedInput = changedInput(request, edited);
  const { hosts = [] } = request;
  const hasHosts = withHosts && hosts.length > 0;
  const allowWith = { ...(updatedInput !== undefined && { updatedInput }), ...(hasHosts && { hosts }) };
  const offers = alwaysAllowOffers(request);
  const edits = editsOffer(request);
  const habit = useRuleOffer(request);
  const granting = { approve, off: sent || isBroken || request.held !== undefined, allowWith };
  return (
    <>
      <div className={css.scroll}>
        <RequestMeta request={request} />
        {edited === null ? (
          <AskedInput request={request} folder={folder} />
        ) : (
          <ErrorBoundary name="The editor" fallback={<AskedInput request={request} folder={folder} />}>
            <InputEditor
              request={request}
              edited={edited}
              takesFocus={isAsked}
              disabled={sent}
              refusal={isRefusedInput(approve.error) ? approve.error.message : null}
              change={(text) => change({ edited: text })}
            />
          </ErrorBoundary>
        )}
        {request.inputChange !== undefined && (
          <ChangedInput toolName={request.toolName} {...request.inputChange} folder={folder} />
        )}
        <RisksLine stakes={request.stakes} />
        <Why request={request} folder={folder} />
        <Group gap="4px 8px" ml={-8}>
          <Disclosure
            isOpen={edited !== null}
            disabled={sent}
            hint={{ key: 'E', isOff: !keyWorks }}
            onClick={toggleEditor}
          >
            {edited === null ? 'Edit before allowing' : 'Discard changes'}
          </Disclosure>
          {edits !== null && (
            <Disclosure isOpen={open === 'edits'} onClick={() => toggle('edits')}>
              Allow edits …
            </Disclosure>
          )}
          {(offers.length > 0 || habit !== null) && (
            <Disclosure isOpen={open === 'always'} onClick={() => toggle('always')}>
              {habit === null ? 'Always allow …' : `Always allow (allowed ${habit.times} times) …`}
            </Disclosure>
          )}
          <Disclosure isOpen={open === 'steps'} onClick={() => toggle('steps')}>
            Recent activity
          </Disclosure>
        </Group>
        {open === 'edits' && edits !== null && <AllowEdits offer={edits} {...granting} />}
        {open === 'always' && <AlwaysAllow request={request} offers={offers} habit={habit} {...granting} />}
        {open === 'steps' && <LastSteps request={request} />}
      </div>
      <VerdictActions
        request={request}
        approve={approve}
        reasonLabel="Tell Claude why (optional)"
        allowWith={allowWith}
        {...(hasHosts && { yes: 'Allow with network' })}
        caption={
          hosts.length > 0 && (
            <Checkbox
              label={
                <>
                  Let it reach <strong>{visibleText(hosts.join(', '), 'command')}</strong> while it runs
                </>
              }
              checked={withHosts}
              disabled={sent}
              onChange={(event) => change({ withHosts: event.currentTarget.checked })}
            />
          )
        }
        incomplete={isBroken}
        showsRefusal={edited !== null}
      />
    </>
  );
}

/** E opens the editor while the form is armed. @returns whether the key works now */
function useEditKey(open: () => void, isOff: boolean): boolean {
  const { mayKeyDecide } = useDecisionGuard();
  const keysWork = useKeysWork();
  useShortcuts({
    e: (event) => {
      if (isOff || !mayKeyDecide(event)) return false;
      open();
      return true;
    },
  });
  return keysWork && !isOff;
}

/** What Claude says the call is for, and why it is asked for, where that says anything. */
export function Why({ request, folder }: { request: PendingRequest; folder: string | null }) {
  const { description, reason, blockedPath, leavesSandbox, toolName, input } = request;
  const isSaid = toolText(toolName, input, folder).object === visibleText(description ?? '', 'prose');
  const why = realReason(reason);
  return (
    <>
      {description !== null && description !== '' && !isSaid && (
        <Hint>
          Claude: <Seen text={description} kind="prose" />
        </Hint>
      )}
      {blockedPath !== null && <Hint>{visibleText(blockedPathText(blockedPath, folder), 'command')}</Hint>}
      {leavesSandbox !== null && <LeavesSandbox reason={leavesSandbox.reason} />}
      {leavesSandbox === null && why !== null && <Hint>{visibleText(why, 'prose')}</Hint>}
    </>
  );
}

interface DisclosureProps extends Pick<ButtonProps, 'children' | 'disabled'> {
  isOpen: boolean;
  /** The key that does the same. */
  hint?: { key: string; isOff: boolean };
  onClick: () => void;
}

/** Unfolds or folds details that most decisions do not need. */
function Disclosure({ isOpen, hint, ...props }: DisclosureProps) {
  return (
    <Button
      variant="subtle"
      size="compact-sm"
      fw={500}
      aria-expanded={isOpen}
      aria-keyshortcuts={hint?.isOff === false ? hint.key.toLowerCase() : undefined}
      rightSection={hint === undefined ? null : <KeyHint isOff={hint.isOff}>{hint.key}</KeyHint>}
      leftSection={<IconChevronRight size={14} aria-hidden />}
      {...props}
    />
  );
}

const ICONS: Readonly<Record<RiskCode, Icon>> = {
  schedules: IconCalendarTime,
  credentials: IconKey,
  privileges: IconShieldOff,
  'git-remote': IconGitFork,
  'git-history': IconGitBranch,
  deletes: IconTrash,
  outside: IconFolderShare,
  installs: IconPackageImport,
  network: IconWorld,
  processes: IconPlayerStop,
  unknown: IconAlertTriangle,
  writes: IconPencil,
};

/** The icon of one thing at risk; a word has to stand beside it. */
function RiskIcon({ code, size = 16 }: { code: RiskCode; size?: number }) {
  const Picture = ICONS[code];
  return <Picture size={size} stroke={1.75} aria-hidden />;
}

/** What is at risk in a request, each in a sentence with its icon. Draws nothing if nothing is known to be. */
export function RisksLine({ stakes }: { stakes: readonly Risk[] }) {
  if (stakes.length === 0) return null;
  return (
    <Flex component="ul" wrap="wrap" gap="4px 16px" align="flex-start" aria-label="At stake">
      {stakes.map(({ code, text }) => (
        <IconLine component="li" key={`${code} ${text}`}>
          <RiskIcon code={code} />
          <span>
            <Seen text={text} kind="command" />
          </span>
        </IconLine>
      ))}
    </Flex>
  );
}

/** What Claude Code says whenever no rule covers a call. It tells a person nothing. */
const SAYS_NOTHING =
  /requires? approval|requested permissions?|(?:haven't|not) (?:yet )?granted|no (?:matching )?rule|permission (?:is )?required/i;

/** Why a call is asked for, as a sentence; null if that is only that calls are asked for. */
export function realReason(reason: string | null): string | null {
  if (reason === null || reason.trim() === '' || SAYS_NOTHING.test(reason)) return null;
  return asSentence(reason);
}

const SHOWN = 3;
/** More than are shown, as decisions and the request's own call do not count as steps. */
const FETCHED = 12;

/** The stage's last steps before the request. */
function LastSteps({ request }: { request: PendingRequest }) {
  const { stageId, requestId, toolUseId } = request;
  const folder = useFolder(stageId);
  const { data, error, refetch } = useQuery({
    queryKey: ['last-steps', stageId, requestId],
    queryFn: ({ signal }) => client.command('get_transcript', { stageId, limit: FETCHED }, { signal }),
  });
  if (error !== null)
    return <ErrorNote lead="The recent activity could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Hint>Reading …</Hint>;
  const steps = data.entries
    .filter((entry) => entry.kind !== 'tool-use' || entry.toolUseId !== toolUseId)
    .flatMap((entry) => {
      const text = stepText(entry, folder);
      return text === null ? [] : [{ index: entry.index, ...text }];
    })
    .slice(-SHOWN);
  if (steps.length === 0) return <Hint>Nothing came before it.</Hint>;
  return (
    <Indented component="ol" gap="xs">
      {steps.map(({ index, who, text, isCode }) => (
        <Flex component="li" key={index} gap="sm">
          <Hint span w={72} flex="none" truncate>
            {who}
          </Hint>
          <Text span className="pre-wrap" lineClamp={4} {...(isCode && { ff: 'monospace', size: 'row' })}>
            <Seen text={text} kind={isCode ? 'command' : 'prose'} />
          </Text>
        </Flex>
      ))}
    </Indented>
  );
}

interface Step {
  who: string;
  text: string;
  isCode: boolean;
}

function stepText(entry: TranscriptEntry, folder: string | null): Step | null {
  switch (entry.kind) {
    case 'user':
      return { who: entry.by ?? 'you', text: entry.text, isCode: false };
    case 'text':
      return { who: 'claude', text: entry.text, isCode: false };
    case 'tool-use': {
      const { verb, object, isCode } = toolText(entry.toolName, entry.input, folder);
      return { who: verb, text: object, isCode };
    }
    case 'tool-result':
      return { who: entry.isError ? 'failed' : 'result', text: entry.text, isCode: true };
    case 'notice':
      return { who: 'notice', text: entry.text, isCode: false };
    case 'thinking':
    case 'decision':
    case 'turn-end':
    case 'unknown':
      return null;
    default:
      return entry satisfies never;
  }
}

/** Whether the reason is a phrase; the CLI may give only the name of a field. */
const isSaid = (reason: string) => reason.trim().includes(' ');

/** Warns what it means to run a command outside the sandbox. */
function LeavesSandbox({ reason }: { reason: string | null }) {
  return (
    <IconLine mt="sm" role="note">
      <IconShieldOff size={16} aria-hidden />
      <Stack gap="xs">
        <p>
          <strong>It will run outside the sandbox.</strong> It can then change your files, use the network without
          asking, and approve its own requests. From then on, Callboard notices a forged answer in this session and
          stops the session, but cannot prevent it.
        </p>
        {reason !== null && isSaid(reason) && (
          <Hint>
            <Seen text={asSentence(reason)} kind="prose" />
          </Hint>
        )}
        <Hint>Allowed this once only: no rule can allow it.</Hint>
      </Stack>
    </IconLine>
  );
}
