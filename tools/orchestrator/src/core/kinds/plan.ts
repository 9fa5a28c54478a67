import type { PermissionUpdate } from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import { oneLine, textField } from '../agent-event.ts';
import { allowCall, declineCall, plainDenial, type RequestKindDefinition, saveGranted } from './shared/definition.ts';

/** A plan that a person accepts or sends back. */
export const plan: RequestKindDefinition = {
  recognise: { by: 'tool', toolName: 'ExitPlanMode' },
  eventMeaning: 'Claude has made a plan and waits for it to be accepted',
  isListedOnInitialize: true,
  isAskedByCommand: false,
  describe: ({ input }) => oneLine(textField(input, 'plan')),
  allow: (_request, body) => allowCall(body, withMode(body.updatedPermissions ?? [])),
  answer: null,
  saves: saveGranted,
  denialMessage: plainDenial,
  decline: declineCall,
  retry: {
    call: () => 'your plan',
    allowed: () => 'The plan was accepted.',
    denied: () => 'It was declined.',
    next: 'Check how far it was carried out, and go on from there. If you are still in plan mode, present the plan again.',
  },
};

/** Accepting a plan always names the mode that follows. */
function withMode(updates: readonly PermissionUpdate[]): PermissionUpdate[] {
  const modes = updates.filter(({ type }) => type === 'setMode');
  if (modes.some(({ mode }) => mode === 'plan')) {
    const message = 'Accepting a plan ends plan mode. Choose another mode, or send the plan back to go on planning.';
    throw new Rejection('bad_request', message);
  }
  if (modes.length > 0) return [...updates];
  return [...updates, { type: 'setMode', mode: 'default', destination: 'session' }];
}
