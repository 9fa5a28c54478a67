// Runs a handshake that the test kills in the middle.
import { runHandshake } from '../../src/doctor/doctor.ts';

const [claude = ''] = process.argv.slice(2);
const { signal } = new AbortController();
await runHandshake({ claude, version: '0.0.0', path: process.env.PATH, signal });
