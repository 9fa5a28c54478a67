import { checkOf, type Phase, type PhaseRun, type StageView } from '@callboard/contract';
import { Anchor, Flex, Stack } from '@mantine/core';
import { IconCircle, IconCircleCheck, IconPlayerPlay } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { checkResult, gateText } from '../../lib/check-text.ts';
import { type PhaseState, phaseStates } from '../../lib/phases.ts';
import { modeLabel } from '../../lib/stage-options.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { Hint, Pane } from '../../ui/primitives.tsx';
import { phasesQuery } from './checks-pane.tsx';

const ICONS = { done: IconCircleCheck, current: IconPlayerPlay, 'to come': IconCircle };
const TEXTS: Record<PhaseState, string> = { done: 'finished', current: 'current', 'to come': 'upcoming' };

/** The phases of the stage's pipeline: what decides at the end of each, what was sent to Claude, and what it said last. */
export default function PhasesPane({ stage }: { stage: StageView }) {
  const { data: begun = [] } = useQuery(phasesQuery(stage));
  const states = phaseStates(stage);
  const reached = stage.session?.phaseIndex ?? -1;
  return (
    <Pane aria-label="Phases">
      <Flex component="ol" direction="column" gap={20}>
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
      </Flex>
    </Pane>
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
    <Flex component="li" gap="md" aria-current={state === 'current' ? 'step' : undefined}>
      <Icon size={20} color={state === 'current' ? 'var(--accent)' : 'var(--muted)'} aria-hidden />
      <Stack gap="xs" flex={1} miw={0}>
        <h2>
          {phase.name} <Hint span>{text}</Hint>
        </h2>
        <Hint>
          {phase.permissionMode !== undefined && `${modeLabel(phase.permissionMode)}. `}
          {phase.conversation === 'fresh' && 'A new conversation. '}
          {gateText(phase.gate, isLast)}
        </Hint>
        {check !== null && <CodeBlock isCommand text={check.command} />}
        <Part
          title={run === null ? 'Prompt' : 'Sent to Claude'}
          text={run?.prompt ?? phase.prompt}
          isOpen={state !== 'done'}
        />
        {run !== null && run.result !== null && <Part title="Result" text={run.result} isOpen={state !== 'to come'} />}
      </Stack>
    </Flex>
  );
}

/** A text that can be closed. */
function Part({ title, text, isOpen: atFirst }: { title: string; text: string; isOpen: boolean }) {
  const [isOpen, setOpen] = useState(atFirst);
  return (
    <div>
      <Anchor type="button" component="button" size="row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {title} <span aria-hidden>{isOpen ? '▾' : '▸'}</span>
      </Anchor>
      {isOpen && <Markdown text={text} />}
    </div>
  );
}
