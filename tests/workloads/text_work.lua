-- SPDX-License-Identifier: GPL-2.0-or-later
-- What scripts do to text, again and again: words counted letter by letter and sorted by a function
-- of their own, lines taken apart and put together by patterns. `lua text_work.lua FILE ROUNDS`.

local function letter(c)
	return c >= 97 and c <= 122 or c >= 65 and c <= 90 or c == 95
end

-- How often each word comes.
local function count_words(text)
	local counts, at, length = {}, 1, #text
	while at <= length do
		local c = text:byte(at)
		if letter(c) then
			local last = at
			while last < length do
				c = text:byte(last + 1)
				if not letter(c) and not (c >= 48 and c <= 57) then break end
				last = last + 1
			end
			local word = text:sub(at, last)
			counts[word] = (counts[word] or 0) + 1
			at = last
		end
		at = at + 1
	end
	return counts
end

local function most_frequent(counts, most)
	local list, lines = {}, {}
	for word in pairs(counts) do list[#list + 1] = word end
	table.sort(list, function(a, b)
		if counts[a] ~= counts[b] then return counts[a] > counts[b] end
		return a < b
	end)
	for i = 1, math.min(most, #list) do
		lines[i] = ("%6d %s"):format(counts[list[i]], list[i])
	end
	return table.concat(lines, "\n")
end

local escapes = { ["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;" }

local function mark_up(text)
	local out = {}
	for line in text:gmatch("[^\n]*") do
		local directive, rest = line:match("^#%s*(%a+)%s+(.*)$")
		line = line:gsub("[<>&]", escapes)
		if directive then
			out[#out + 1] = ("<b>%s</b> %s"):format(directive, rest)
		elseif line:find("^%s*/?%*") then
			out[#out + 1] = "<i>" .. line:gsub("^%s+", "") .. "</i>"
		else
			out[#out + 1] = line:gsub("%f[%a](%a+)%(", "<a>%1</a>(")
		end
	end
	return table.concat(out, "\n")
end

local file = assert(io.open(arg[1]))
local text = file:read("a")
file:close()
local words, page
for _ = 1, tonumber(arg[2]) do
	words, page = most_frequent(count_words(text), 40), mark_up(text)
end
print(words)
print(#page)
