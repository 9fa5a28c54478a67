import {
  type PendingRequest,
  PermissionMode,
  type PermissionUpdate,
  type RuleOffer,
  RuleScope,
} from '@callboard/contract';
import { Anchor, Flex, Group, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { z } from 'zod';
import { rulesDialog } from '../../data/dialogs.ts';
import { useCanAnswer } from '../../stream/stream-context.tsx';
import { Hint, Indented, Tag } from '../../ui/primitives.tsx';
import { Seen } from '../../ui/text.tsx';
import { DryRunLines, matchText, RULE_ENDS, ruleEnd } from '../rules/rule-offer.tsx';
import css from './asked-input.module.css';
import { DecisionButton, type Press } from './decision-slot.tsx';
import { useDraft } from './request-drafts.ts';
import { type Approval, delayedFor, useFolder, useProject, type Verdict } from './use-request.ts';

const SCOPES = [
  { value: 'stage', label: 'this stage' },
  { value: 'project', label: 'the project' },
];

interface AlwaysAllowProps {
  request: PendingRequest;
  offers: readonly AlwaysAllowOffer[];
  /** Exact rules for what was allowed again and again. */
  habit: RuleOffer | null;
  approve: Approval;
  off: boolean;
  allowWith: Pick<Verdict, 'updatedInput' | 'hosts'>;
}

/** Allows this call, and from now on every call that the chosen rule covers. */
export function AlwaysAllow({ request, offers: suggested, approve, off, allowWith, ...props }: AlwaysAllowProps) {
  const [habit] = useState(props.habit); // a choice that a person sees does not change under their hand
  const offers = habit === null ? suggested : [exactOffer(habit), ...suggested];
  const [chosen, setChosen] = useState(0);
  const [scope, setScope] = useState<RuleScope>('stage');
  const [end, setEnd] = useState('never');
  const project = useProject(request.stageId);
  const folder = useFolder(request.stageId);
  const canAnswer = useCanAnswer();
  const [{ reason }] = useDraft(request);
  const offer = offers[chosen] ?? offers[0];
  if (offer === undefined) return null;
  const place = scope === 'project' && project !== undefined ? { projectId: project.id } : { stageId: request.stageId };
  const allow = (press: Press) => {
    const until = ruleEnd(end, Date.now());
    approve.mutate({
      decision: 'allow',
      ...allowWith,
      updatedPermissions: [offer.suggestion],
      remember: scope,
      ...(until !== undefined && { rememberUntil: until }),
      ...delayedFor(press),
    });
  };
  return (
    <Indented>
      <Flex component="fieldset" direction="column" gap="xs" disabled={off}>
        <Hint component="legend" mb="xs">
          Allow from now on, without asking:
        </Hint>
        {offers.map((one, index) => (
          <Offer
            key={one.rules.join()}
            offer={one}
            folder={folder}
            isOnly={offers.length === 1}
            checked={one === offer}
            choose={() => setChosen(index)}
          />
        ))}
      </Flex>
      {habit !== null && offer === offers[0] && <Hint>{matchText(habit.rules)}</Hint>}
      {offer.kind === 'allow' && <DryRunLines rules={offer.rules} scope={place} />}
      <Group align="flex-end">
        <NativeSelect
          label="For"
          data={SCOPES}
          value={scope}
          disabled={off}
          onChange={(event) => setScope(RuleScope.parse(event.currentTarget.value))}
        />
        <NativeSelect
          label="Expires"
          data={RULE_ENDS.map(({ value, label }) => ({ value, label }))}
          value={end}
          disabled={off}
          onChange={(event) => setEnd(event.currentTarget.value)}
        />
        <DecisionButton variant="default" disabled={off || !canAnswer} act={allow}>
          Always allow
        </DecisionButton>
      </Group>
      {reason.trim() !== '' && <Hint>The reason is not sent along: Claude reads it only with Deny.</Hint>}
      <Hint>
        Applies from the next call on: other requests that are open already still need an answer. Saved in Callboard,
        not in your repository. Remove it any time under{' '}
        {project === undefined ? (
          'Rules'
        ) : (
          <Anchor component="button" type="button" inherit onClick={() => rulesDialog.open({ projectId: project.id })}>
            Rules
          </Anchor>
        )}
        .
      </Hint>
    </Indented>
  );
}

/** Exact rules in the shape of a suggestion of Claude Code. */
function exactOffer({ rules, times }: RuleOffer): AlwaysAllowOffer {
  const parts = rules.map((rule) => {
    const [, toolName = rule, ruleContent] = /^([^()]+)\((.*)\)$/s.exec(rule) ?? [];
    return { toolName, ...(ruleContent !== undefined && { ruleContent }) };
  });
  const suggestion = { type: 'addRules', behavior: 'allow', destination: 'session', rules: parts };
  return { suggestion, kind: 'allow', rules: [...rules], times };
}

interface OfferProps {
  offer: AlwaysAllowOffer;
  folder: string | null;
  isOnly: boolean;
  checked: boolean;
  choose: () => void;
}

function Offer({ offer, folder, isOnly, checked, choose }: OfferProps) {
  const isOwn = offer.kind === 'directory' && offer.rules.every((rule) => rule === folder);
  const content = (
    <span>
      {offer.kind === 'directory' && <Hint span>Work in {isOwn ? 'the stage’s own ' : ''}folder </Hint>}
      {offer.times !== undefined && <Hint span>Allowed {offer.times} times: </Hint>}
      {offer.rules.map((rule) => (
        <Tag key={rule}>
          <code>
            <Seen text={rule} kind="command" />
          </code>
        </Tag>
      ))}
    </span>
  );
  if (isOnly) return <div>{content}</div>;
  return (
    <label className={css.offer}>
      <input type="radio" checked={checked} onChange={choose} />
      {content}
    </label>
  );
}

const AllowRules = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })).min(1),
});
const Directories = z.looseObject({
  type: z.literal('addDirectories'),
  directories: z.array(z.string()).min(1),
});
const Mode = z.looseObject({ type: z.literal('setMode'), mode: PermissionMode });

/** A suggestion of Claude Code that a person can allow permanently. */
export interface AlwaysAllowOffer {
  suggestion: PermissionUpdate;
  kind: 'allow' | 'directory';
  /** Exactly what would be kept: rules, for example `Bash(npm run *)`, or folders. */
  rules: string[];
  /** How often it was allowed, for a rule from habit. */
  times?: number;
}

type Suggesting = Pick<PendingRequest, 'suggestions' | 'suppressAlwaysAllow'>;

/** Returns the suggestions that can be kept. A change of the mode cannot. */
export function alwaysAllowOffers(request: Suggesting) {
  return request.suppressAlwaysAllow ? [] : request.suggestions.flatMap(offerOf);
}

function offerOf(suggestion: PermissionUpdate): AlwaysAllowOffer[] {
  const allow = AllowRules.safeParse(suggestion);
  if (allow.success) {
    const rules = allow.data.rules.map(({ toolName, ruleContent }) =>
      ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
    );
    return [{ suggestion, kind: 'allow', rules }];
  }
  const folders = Directories.safeParse(suggestion);
  return folders.success ? [{ suggestion, kind: 'directory', rules: folders.data.directories }] : [];
}

/** A suggestion of Claude Code to go on in the mode in which it edits without asking. */
export interface EditsOffer {
  /** All that goes out with it: the mode, and the folders without which it would not cover this call. */
  updates: PermissionUpdate[];
  /** Folders outside the worktree that it opens as well. */
  folders: string[];
}

/** Returns the offer to allow edits in this stage; null if Claude Code does not suggest it. */
export function editsOffer({ suggestions, suppressAlwaysAllow }: Suggesting): EditsOffer | null {
  const mode = suggestions.find((suggestion) => Mode.safeParse(suggestion).data?.mode === 'acceptEdits');
  if (mode === undefined || suppressAlwaysAllow) return null;
  const directories = suggestions.filter((suggestion) => Directories.safeParse(suggestion).success);
  const folders = directories.flatMap((suggestion) => Directories.parse(suggestion).directories);
  return { updates: [mode, ...directories], folders };
}

interface AllowEditsProps {
  offer: EditsOffer;
  approve: Approval;
  off: boolean;
  allowWith: Pick<Verdict, 'updatedInput' | 'hosts'>;
}

/** Allows this call, and from now on the edits of this stage. */
export function AllowEdits({ offer, approve, off, allowWith }: AllowEditsProps) {
  const canAnswer = useCanAnswer();
  const allow = (press: Press) =>
    approve.mutate({ decision: 'allow', ...allowWith, updatedPermissions: offer.updates, ...delayedFor(press) });
  return (
    <Indented>
      <p>
        Claude then edits and creates files in the stage’s folder without asking, and runs <code>mkdir</code>,{' '}
        <code>touch</code>, <code>mv</code>, <code>cp</code> and <code>rm</code> there. Other commands still ask.
      </p>
      {offer.folders.length > 0 && (
        <p>
          The same holds in{' '}
          {offer.folders.map((folder) => (
            <Tag key={folder}>
              <code>
                <Seen text={folder} kind="command" />
              </code>
            </Tag>
          ))}
        </p>
      )}
      <Group align="flex-end">
        <DecisionButton variant="default" disabled={off || !canAnswer} act={allow}>
          Allow edits in this stage
        </DecisionButton>
      </Group>
      <Hint>To end it, choose another mode beside the message box.</Hint>
    </Indented>
  );
}
