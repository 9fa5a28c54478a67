import { z } from 'zod';

/** An address of a code host's page. It becomes a link, so any other scheme (`javascript:`) makes the answer unusable. */
export const WebAddress = z.url({ protocol: /^https?$/ });
/** Null if it is missing, or no address of a page. */
export const OptionalWebAddress = WebAddress.nullish().catch(null);
