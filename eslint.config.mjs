import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Globals that differ between a workflow's run and its replay, or that the workflow sandbox does not have. */
const NOT_IN_WORKFLOWS = ['process', 'Buffer', 'fetch', 'performance', 'crypto', 'require', 'setInterval', 'Intl'];

export default tseslint.config(
  { ignores: ['**/dist/', 'packages/client/src/contract-types.ts', 'node_modules/', '.data/', 'coverage/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      'no-duplicate-imports': 'error',
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  {
    // Production code writes through its logger.
    files: ['src/{api,checkout,contracts,db,domain,html,orders,webhooks}/**', 'workflows/**', 'activities/**'],
    rules: { 'no-console': 'error' },
  },
  {
    files: ['workflows/**', 'src/domain/**', 'src/checkout/temporal/checkout-{messages,workflow}.ts'],
    rules: {
      'no-restricted-globals': ['error', ...NOT_IN_WORKFLOWS],
      'no-restricted-properties': [
        'error',
        ...['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString', 'localeCompare'].map((property) => ({
          property,
          message: 'The result depends on the machine, and workflow code must be deterministic.',
        })),
      ],
    },
  },
  {
    // Tests read the service's JSON responses without types.
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      'no-restricted-syntax': [
        'error',
        {
          // `test.only`, and `test.concurrent.only` or `test.each.only`.
          selector:
            'MemberExpression[property.name="only"]:matches([object.name=/^(describe|it|test)$/], [object.object.name=/^(describe|it|test)$/])',
          message: '`only` skips all other tests of the file.',
        },
        {
          selector: 'Identifier[name=/^(fit|fdescribe|xit|xtest|xdescribe)$/]',
          message: 'These functions skip tests.',
        },
      ],
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    ...tseslint.configs.disableTypeChecked,
    languageOptions: {
      ...tseslint.configs.disableTypeChecked.languageOptions,
      globals: {
        AbortSignal: 'readonly',
        Buffer: 'readonly',
        console: 'readonly',
        fetch: 'readonly',
        process: 'readonly',
        URL: 'readonly',
      },
    },
  },
);
