import { checkOf, type Phase, type PhaseRun, type StageView } from '@callboard/contract';
import { IconCircle, IconCircleCheck, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { checkResult, gateText } from '../../lib/check-text.ts';
import { type PhaseState, phaseStates } from '../../lib/phases.ts';
import { modeLabel } from '../../lib/stage-options.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import css from './checks.module.css';
import { phasesQuery } from './checks-pane.tsx';

const ICONS = { done: IconCircleCheck, current: IconPlayerPlay, 'to come': IconCircle };
const TEXTS: Record<PhaseState, string> = { done: 'finished', current: 'current', 'to come': 'upcoming' };

/** The phases of the stage's pipeline: what decides at the end of each, what was sent to Claude, and what it said last. */
export default function PhasesPane({ stage }: { stage: StageView }) {
  const { data: begun = [] } = useQuery(phasesQuery(stage));
  const states = phaseStates(stage);
  const reached = stage.session?.phaseIndex ?? -1;
  return (
    <section className={css.pane} aria-label="Phases">
      <ol className={css.phases}>
        {stage.pipeline.map((phase, index) => (
          <PhaseStep
            // biome-ignore lint/suspicious/noArrayIndexKey: a phase is its place
            key={index}
            phase={phase}
            state={states[index] ?? 'to come'}
            run={begun.findLast(({ phaseIndex }) => phaseIndex === index) ?? null}
            checks={index === reached ? checkResult(stage) : ''}
            isLast={index === stage.pipeline.length - 1}
          />
        ))}
      </ol>
    </section>
  );
}

interface PhaseStepProps {
  phase: Phase;
  state: PhaseState;
  /** Null for a phase that has not begun. */
  run: PhaseRun | null;
  /** What its check came to. */
  checks: string;
  isLast: boolean;
}

function PhaseStep({ phase, state, run, checks, isLast }: PhaseStepProps) {
  const Icon = ICONS[state];
  const check = checkOf(phase.gate);
  const text = [TEXTS[state], checks].filter((part) => part !== '').join(', ');
  return (
    <li data-state={state} aria-current={state === 'current' ? 'step' : undefined}>
      <Icon size={20} aria-hidden />
      <div className={css.step}>
        <h2 className={css.stepHead}>
          {phase.name} <span className={css.facts}>{text}</span>
        </h2>
        <p className={css.facts}>
          {phase.permissionMode !== undefined && `${modeLabel(phase.permissionMode)}. `}
          {phase.conversation === 'fresh' && 'A new conversation. '}
          {gateText(phase.gate, isLast)}
        </p>
        {check !== null && <CodeBlock isCommand text={check.command} />}
        <Part
          title={run === null ? 'Prompt' : 'Sent to Claude'}
          text={run?.prompt ?? phase.prompt}
          isOpen={state !== 'done'}
        />
        {run !== null && run.result !== null && <Part title="Result" text={run.result} isOpen={state !== 'to come'} />}
      </div>
    </li>
  );
}

/** A text that can be closed. */
function Part({ title, text, isOpen: atFirst }: { title: string; text: string; isOpen: boolean }) {
  const [isOpen, setOpen] = useState(atFirst);
  return (
    <div className={css.part}>
      <button type="button" className={css.partHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {title}
      </button>
      {isOpen && <Markdown text={text} />}
    </div>
  );
}
