-- Neovim opens a program with an error, and shows the server's diagnostic. It runs without a terminal:
--   LITMUS=litmus nvim --headless --clean -l neovim.lua, or with -c "luafile neovim.lua" before 0.9
-- Calls that all versions from 0.7 on have.
local file = os.getenv("LITMUS_FILE")
vim.cmd("edit " .. vim.fn.fnameescape(file))
local client = vim.lsp.start_client({
  name = "litmus",
  cmd = { os.getenv("LITMUS"), "lsp" },
  root_dir = vim.fn.fnamemodify(file, ":h"),
})
vim.lsp.buf_attach_client(0, client)
local found = {}
vim.wait(10000, function()
  found = vim.diagnostic.get(0)
  return #found > 0
end, 20)
for _, one in ipairs(found) do
  print(string.format("%d:%d: %s", one.lnum + 1, one.col + 1, one.message))
end
vim.lsp.stop_client(client)
vim.cmd(#found > 0 and "qall!" or "cquit 1")
