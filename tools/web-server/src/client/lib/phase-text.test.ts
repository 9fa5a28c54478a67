import { expect, it } from 'vitest';
import { session, stage } from '../test/samples.ts';
import { phaseAtGate, phaseStates, phaseText } from './phases.ts';

const pipeline = ['Plan', 'Build', 'Check'].map((name) => ({ name, prompt: 'p', gate: 'human' as const }));
const phased = (change: Record<string, unknown>) => ({
  ...stage('STAGE-1', { pipeline }),
  session: session('STAGE-1', change),
});

it('says which phase it is', () => {
  expect(phaseText(phased({ phaseIndex: 1 }))).toBe('Build, phase 2 of 3');
  expect(phaseText({ ...stage('STAGE-1'), session: null })).toBeNull();
});

it('names the phase at the gate', () => {
  expect(phaseAtGate(phased({ phaseIndex: 0, atGate: true }))).toBe('Build');
  expect(phaseAtGate(phased({ phaseIndex: 0 }))).toBeNull();
});

it('gives the state of each phase', () => {
  expect(phaseStates(phased({ phaseIndex: 1 }))).toEqual(['done', 'current', 'to come']);
  expect(phaseStates(phased({ phaseIndex: 1, atGate: true }))).toEqual(['done', 'done', 'to come']);
  expect(phaseStates({ ...stage('STAGE-1', { pipeline }), session: null })).toEqual(['to come', 'to come', 'to come']);
});
