import { config } from 'zod';

// Without this, Zod tries `new Function` once, which a strict content security policy reports as a violation.
// Import this before the contract: its schemas read the setting when they are created.
config({ jitless: true });
