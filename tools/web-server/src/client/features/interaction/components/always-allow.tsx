import { type PendingRequest, type RuleOffer, RuleScope } from '@callboard/contract';
import { Anchor, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useCanAnswer } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useDraft } from '../api/use-draft.ts';
import { useFolder, useProject } from '../api/use-request.ts';
import type { AlwaysAllowOffer } from '../model/always-allow-offers.ts';
import { RULE_ENDS, ruleEnd } from '../model/rule-ends.ts';
import { useRulesDialog } from '../model/rules-dialog.ts';
import { type Approval, delayedFor, type Verdict } from '../model/verdict.ts';
import css from './content.module.css';
import { DecisionButton, type Press } from './decision-place.tsx';
import { DryRunLines } from './rehearsal-lines.tsx';
import { matchText } from './rule-offer-panel.tsx';

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
  allowWith: Pick<Verdict, 'updatedInput'>;
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
  const openRules = useRulesDialog((state) => state.open);
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
    <div className={css.panel}>
      <fieldset className={css.offers} disabled={off}>
        <legend className={css.panelTitle}>Allow from now on, without asking:</legend>
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
      </fieldset>
      {habit !== null && offer === offers[0] && <p className={css.hint}>{matchText(habit.rules)}</p>}
      {offer.kind === 'allow' && <DryRunLines rules={offer.rules} scope={place} />}
      <div className={css.panelRow}>
        <NativeSelect
          label="For"
          data={SCOPES}
          value={scope}
          disabled={off}
          onChange={(event) => setScope(RuleScope.parse(event.currentTarget.value))}
        />
        <NativeSelect
          label="Ends after"
          data={RULE_ENDS.map(({ value, label }) => ({ value, label }))}
          value={end}
          disabled={off}
          onChange={(event) => setEnd(event.currentTarget.value)}
        />
        <DecisionButton variant="default" disabled={off || !canAnswer} act={allow}>
          Always allow
        </DecisionButton>
      </div>
      {reason.trim() !== '' && (
        <p className={css.hint}>The reason is not sent along: Claude reads it only with Deny.</p>
      )}
      <p className={css.hint}>
        Applies from the next call on: other requests that are open already still need an answer. Saved in Callboard,
        not in your repository. Remove it any time under{' '}
        {project === undefined ? (
          'Rules'
        ) : (
          <Anchor component="button" type="button" inherit onClick={() => openRules(project.id)}>
            Rules
          </Anchor>
        )}
        .
      </p>
    </div>
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
      {offer.kind === 'directory' && <span className={css.hint}>Work in {isOwn ? 'the stage’s own ' : ''}folder </span>}
      {offer.times !== undefined && <span className={css.hint}>Allowed {offer.times} times: </span>}
      {offer.rules.map((rule) => (
        <code key={rule} className={css.rule}>
          <Seen text={rule} kind="command" />
        </code>
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
