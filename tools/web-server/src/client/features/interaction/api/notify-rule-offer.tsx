import type { PendingRequest } from '@callboard/contract';
import { Button } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { client } from '../../../lib/api-client.ts';
import { Seen } from '../../../ui/seen.tsx';
import { useRulesDialog } from '../model/rules-dialog.ts';

const SHOWN_MS = 15_000;

/** Offers the exact rule for what was just allowed, if that was the third time. A press opens it; nothing is saved by that. */
export async function notifyRuleOffer({ stageId, requestId }: PendingRequest): Promise<void> {
  const { offer } = await client.command('get_rule_offer', { stageId, requestId });
  if (offer === null) return;
  const id = `rule-offer ${offer.rules.join(' ')}`;
  const review = () => {
    notifications.hide(id);
    useRulesDialog.getState().review(offer);
  };
  notifications.show({
    id,
    title: `Allowed ${offer.times} times`,
    message: (
      <>
        <p>
          <code>
            <Seen text={offer.rules.join(', ')} kind="command" />
          </code>
        </p>
        <Button variant="default" size="compact-md" mt={8} onClick={review}>
          Make it a rule …
        </Button>
      </>
    ),
    color: 'gray',
    autoClose: SHOWN_MS,
  });
}
