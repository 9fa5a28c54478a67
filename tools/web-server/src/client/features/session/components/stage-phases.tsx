import type { StageView } from '@callboard/contract';
import { IconCircle, IconCircleCheck, IconPlayerPlay } from '@tabler/icons-react';
import { modeWords } from '../../../lib/permission-modes.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { type PhaseState, phaseStates } from '../model/phase-words.ts';
import css from './stage-head.module.css';

const ICONS = { done: IconCircleCheck, current: IconPlayerPlay, 'to come': IconCircle };
const WORDS: Record<PhaseState, string> = { done: 'finished', current: 'the current one', 'to come': 'to come' };

/** The phases of the stage's pipeline, with their states. */
export function StagePhases({ stage }: { stage: StageView }) {
  const states = phaseStates(stage);
  return (
    <section className={css.details} aria-label="Phases">
      <ol className={css.phases}>
        {stage.pipeline.map((phase, index) => {
          const state = states[index] ?? 'to come';
          const Icon = ICONS[state];
          return (
            <li key={phase.name} data-state={state} aria-current={state === 'current' ? 'step' : undefined}>
              <Icon size={20} aria-hidden />
              <div>
                <h2 className={css.sub}>
                  {phase.name} <span className={css.phaseState}>{WORDS[state]}</span>
                </h2>
                <p className={css.phaseFacts}>
                  {phase.permissionMode !== undefined && `${modeWords(phase.permissionMode)}. `}
                  {phase.gate === 'human' ? 'You start the next phase.' : 'The next phase starts automatically.'}
                </p>
                <Markdown text={phase.prompt} />
              </div>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
