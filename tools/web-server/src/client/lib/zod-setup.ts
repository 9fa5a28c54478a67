import { config } from 'zod';

// Zod would try `new Function` once, which a strict content security policy reports as a violation.
// Imported before the contract, whose schemas read this when they are made.
config({ jitless: true });
