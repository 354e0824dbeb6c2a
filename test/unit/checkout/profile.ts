import type { Profile } from '../../../src/checkout/profile';
import { createSandboxLender } from '../../../src/lender/sandbox';

const lender = createSandboxLender(20_000);

export const PROFILE: Profile = {
  lenderName: 'Sandbox Lender',
  reviewTime: lender.reviewTime,
  quote: (order, today) => lender.quote(order, today),
  banks: [{ id: 'oak', name: 'Oak Bank' }],
  privacyUrl: 'https://pay.example/privacy',
  termsUrl: 'https://pay.example/terms',
  creditAgreementUrl: 'https://pay.example/credit-agreement',
};
