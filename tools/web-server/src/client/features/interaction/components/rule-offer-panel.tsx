import { type RuleOffer, RuleScope } from '@callboard/contract';
import { Button, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useCanCommand } from '../../../stream/stream-context.tsx';
import { Seen } from '../../../ui/seen.tsx';
import { useDismissOffer, useSaveRules } from '../api/use-rule-offer.ts';
import { RULE_ENDS, ruleEnd } from '../model/rule-ends.ts';
import css from './content.module.css';
import { DryRunLines } from './rehearsal-lines.tsx';

const SCOPES = [
  { value: 'project', label: 'the project' },
  { value: 'stage', label: 'this stage' },
];

/** Offers exact rules for what was allowed again and again. Saves nothing by itself. */
export function RuleOfferPanel({ offer, close }: { offer: RuleOffer; close: () => void }) {
  const { projectId, stageId, rules, times } = offer;
  const [scope, setScope] = useState<RuleScope>('project');
  const [end, setEnd] = useState('month');
  const save = useSaveRules(offer, close);
  const dismiss = useDismissOffer(close);
  const canCommand = useCanCommand();
  const place = scope === 'stage' ? { stageId } : { projectId };
  const isBusy = save.isPending || dismiss.isPending;
  return (
    <section className={css.dialogPart} aria-labelledby="rules-offer">
      <h3 id="rules-offer">You allowed this {times} times</h3>
      {rules.map((rule) => (
        <code key={rule} className={css.rule}>
          <Seen text={rule} kind="command" />
        </code>
      ))}
      <p className={css.hint}>{matchText(rules)}</p>
      <DryRunLines rules={rules} scope={place} />
      <div className={css.panelRow}>
        <NativeSelect
          label="For"
          data={SCOPES}
          value={scope}
          onChange={(event) => setScope(RuleScope.parse(event.currentTarget.value))}
        />
        <NativeSelect
          label="Ends after"
          data={RULE_ENDS.map(({ value, label }) => ({ value, label }))}
          value={end}
          onChange={(event) => setEnd(event.currentTarget.value)}
        />
        <Button
          disabled={!canCommand || isBusy}
          loading={save.isPending}
          onClick={() => save.mutate({ rules, scope: place, expiresAt: ruleEnd(end, Date.now()) })}
        >
          Save rule
        </Button>
        <Button variant="default" disabled={!canCommand || isBusy} onClick={() => dismiss.mutate(offer)}>
          Not now
        </Button>
      </div>
    </section>
  );
}

/** What else exact rules match, beside what was allowed. */
export function matchText(rules: readonly string[]): string {
  const [rule = ''] = rules;
  if (rule.startsWith('WebFetch(')) return 'Matches every page of this site.';
  if (!rule.startsWith('Bash(')) return 'Matches every call of this tool, whatever its input.';
  return 'Matches exactly this command: alone, behind a wrapper such as timeout, with its output dropped, or in a longer command whose other parts are allowed or only read.';
}
