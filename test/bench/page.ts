export function renderPages(): void {}
