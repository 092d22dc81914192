package factbook_test

// testCase is a story: what happens, one step per line, and what is known of Ann afterwards.
//
// A step is [NAME@][AGENT/]VERB [ENTITY:]ATTRIBUTE = VALUE [from DATE] [to DATE] [=> OUTCOME]. "said" is a model that has read only its
// user, "read" one that has read a tool or a document, "wrote" the user. What is known is one entry per fact that a turn may use today,
// "?" before a proposal.
type testCase struct{ name, steps, want string }

var cases = []testCase{
	// Updates.
	{"a fact is remembered", "said city = Oslo => remembered", "city=Oslo"},
	{"the user writes one", "wrote city = Oslo", "city=Oslo"},
	{"a new value replaces the one before", "said city = Oslo\nsaid city = Bonn => remembered", "city=Bonn"},
	{"three values in a row", "said city = Oslo\nsaid city = Bonn\nsaid city = Rome", "city=Rome"},
	{"back to the first value", "said city = Oslo\nsaid city = Bonn\nsaid city = Oslo => remembered", "city=Oslo"},
	{"the same value again", "said city = Oslo\nsaid city = Oslo => known", "city=Oslo"},
	{"the same value in capitals", "said city = Oslo\nsaid city = OSLO => known", "city=Oslo"},
	{"the same value with a full stop", "said city = Oslo\nsaid city = Oslo. => known", "city=Oslo"},
	{"the attribute in capitals", "said city = Oslo\nsaid City = Bonn", "City=Bonn"},
	{"the attribute with an underscore", "said home_town = Oslo\nsaid home town = Bonn", "home town=Bonn"},
	{"the attribute with a pronoun", "said my city = Oslo\nsaid city = Bonn", "city=Bonn"},
	{"spaces in the attribute", "said home   town = Oslo\nsaid home town = Bonn", "home town=Bonn"},
	{"two attributes stay apart", "said city = Oslo\nsaid job = cook", "city=Oslo; job=cook"},
	{"a longer name is another attribute", "said city = Oslo\nsaid city of birth = Rome", "city of birth=Rome; city=Oslo"},
	{"like values do not replace each other", "said first city = Oslo\nsaid last city = Oslo", "first city=Oslo; last city=Oslo"},
	{"the last cluster", "said last cluster = prod-7\nsaid last cluster = prod-8", "last cluster=prod-8"},
	{"values keep their separators", "said cluster = prod-7\nsaid cluster = prod 7 => remembered", "cluster=prod 7"},
	{"Unicode values", "said city = Zürich\nsaid city = ZÜRICH => known", "city=Zürich"},
	{"a value in another script", "said city = 東京\nsaid city = 大阪", "city=大阪"},
	{"a value with an equals sign", "said formula = a=b", "formula=a=b"},

	// Contradictions, and whose word counts.
	{"a model does not replace what the user wrote", "wrote city = Oslo\nsaid city = Bonn => proposed", "?city=Bonn; city=Oslo"},
	{"the user replaces what a model said", "said city = Oslo\nwrote city = Bonn", "city=Bonn"},
	{"the user replaces their own words", "wrote city = Oslo\nwrote city = Bonn", "city=Bonn"},
	{"the user confirms what a model said", "said city = Oslo\nwrote city = Oslo\nsaid city = Bonn => proposed", "?city=Bonn; city=Oslo"},
	{"a model repeats what the user wrote", "wrote city = Oslo\nsaid city = Oslo => known", "city=Oslo"},
	{"a contradiction is proposed once", "wrote city = Oslo\nsaid city = Bonn\nsaid city = Bonn => proposed", "?city=Bonn; city=Oslo"},
	{"an accepted contradiction replaces", "wrote city = Oslo\nsaid city = Bonn\naccept city = Bonn", "city=Bonn"},
	{"a rejected contradiction is gone", "wrote city = Oslo\nsaid city = Bonn\nreject city = Bonn", "city=Oslo"},
	{
		"a rejected one is not proposed again",
		"wrote city = Oslo\nsaid city = Bonn\nreject city = Bonn\nsaid city = Bonn => forgotten",
		"city=Oslo",
	},
	{"another one is", "wrote city = Oslo\nsaid city = Bonn\nreject city = Bonn\nsaid city = Rome => proposed", "?city=Rome; city=Oslo"},
	{"the user may write what they rejected", "wrote city = Oslo\nsaid city = Bonn\nreject city = Bonn\nwrote city = Bonn", "city=Bonn"},
	{"two contradictions wait", "wrote city = Oslo\nsaid city = Bonn\nsaid city = Rome", "?city=Bonn; ?city=Rome; city=Oslo"},
	{"the user corrects", "said city = Oslo\ncorrect city = Bonn", "city=Bonn"},
	{"a model does not undo the correction", "said city = Oslo\ncorrect city = Bonn\nsaid city = Oslo => proposed", "?city=Oslo; city=Bonn"},
	{"a correction to the same value", "said city = Oslo\ncorrect city = Oslo\nsaid city = Bonn => proposed", "?city=Bonn; city=Oslo"},

	// Entities.
	{"my brother's city is not mine", "said city = Oslo\nsaid my brother's: city = Bonn", "brother.city=Bonn; city=Oslo"},
	{"my brother and the brother", "said my brother: city = Oslo\nsaid brother: city = Bonn", "brother.city=Bonn"},
	{"my brother's and Brother", "said my brother's: city = Oslo\nsaid Brother: city = Bonn", "brother.city=Bonn"},
	{"brother and sister", "said brother: city = Oslo\nsaid sister: city = Bonn", "brother.city=Oslo; sister.city=Bonn"},
	{
		"my own move leaves my brother where he is",
		"said brother: city = Oslo\nsaid city = Rome\nsaid city = Bonn",
		"brother.city=Oslo; city=Bonn",
	},
	{"I, me and the user are one", "said me: city = Oslo\nsaid I: city = Bonn\nsaid the user: city = Rome", "city=Rome"},
	{"user as an entity", "said user: city = Oslo\nsaid city = Bonn", "city=Bonn"},
	{"a project", "said project apollo: deadline = May\nsaid project apollo: deadline = June", "project apollo.deadline=June"},
	{"two projects", "said project a: deadline = May\nsaid project b: deadline = June", "project a.deadline=May; project b.deadline=June"},
	{"forgetting my brother's leaves mine", "said city = Oslo\nsaid brother: city = Oslo\nforget brother: city = Oslo", "city=Oslo"},
	{"forgetting mine leaves my brother's", "said city = Oslo\nsaid brother: city = Oslo\nforget city = Oslo", "brother.city=Oslo"},
	{
		"a forgotten value of my brother's may be mine",
		"said brother: city = Oslo\nforget brother: city = Oslo\nsaid city = Oslo => remembered",
		"city=Oslo",
	},

	// Dates.
	{"a fact about the past", "said city = Oslo from 2020-01-01 to 2021-01-01", ""},
	{"a fact that is still true", "said city = Oslo from 2020-01-01", "city=Oslo"},
	{"a fact about the future", "said city = Oslo from 2030-01-01", ""},
	{"a fact that will end", "said city = Oslo to 2030-01-01", "city=Oslo"},
	{"an earlier value comes later", "said city = Bonn from 2025-01-01\nsaid city = Oslo from 2020-01-01 => past", "city=Bonn"},
	{"a later value comes later", "said city = Oslo from 2020-01-01\nsaid city = Bonn from 2025-01-01 => remembered", "city=Bonn"},
	{
		"an earlier value is said twice",
		"said city = Bonn from 2025-01-01\nsaid city = Oslo from 2020-01-01\nsaid city = Oslo from 2020-01-01 => known",
		"city=Bonn",
	},
	{"a value from next year leaves the present one", "said city = Oslo\nsaid city = Bonn from 2027-06-01 => remembered", "city=Oslo"},
	{"an undated value replaces a dated one", "said city = Oslo from 2020-01-01\nsaid city = Bonn", "city=Bonn"},
	{"an ended value may come back", "said city = Oslo from 2020-01-01 to 2021-01-01\nsaid city = Oslo => remembered", "city=Oslo"},
	{"a new value after one that ended", "said city = Oslo from 2020-01-01 to 2021-01-01\nsaid city = Bonn => remembered", "city=Bonn"},
	{"it ends before it begins", "said city = Oslo from 2021-01-01 to 2020-01-01 => invalid", ""},
	{"the day of today", "said city = Oslo from 2026-11-28", "city=Oslo"},

	// Forgetting and relearning.
	{"forgotten is gone", "said city = Oslo\nforget city = Oslo", ""},
	{"forgotten is not learned again", "said city = Oslo\nforget city = Oslo\nsaid city = Oslo => forgotten", ""},
	{"in capitals neither", "said city = Oslo\nforget city = Oslo\nsaid City = OSLO => forgotten", ""},
	{"for one agent neither", "said city = Oslo\nforget city = Oslo\nhelper/said city = Oslo => forgotten", ""},
	{"from a tool neither", "said city = Oslo\nforget city = Oslo\nread city = Oslo => forgotten", ""},
	{"another value is", "said city = Oslo\nforget city = Oslo\nsaid city = Bonn => remembered", "city=Bonn"},
	{"the user may write it again", "said city = Oslo\nforget city = Oslo\nwrote city = Oslo", "city=Oslo"},
	{"then a model may know it", "said city = Oslo\nforget city = Oslo\nwrote city = Oslo\nsaid city = Oslo => known", "city=Oslo"},
	{"forgotten twice", "said city = Oslo\nforget city = Oslo\nwrote city = Oslo\nforget city = Oslo\nsaid city = Oslo => forgotten", ""},
	{"forgetting the present value does not bring back the one before", "said city = Oslo\nsaid city = Bonn\nforget city = Bonn", ""},
	{"forgetting a proposal", "read city = Oslo\nforget city = Oslo\nread city = Oslo => forgotten", ""},
	{
		"forgetting takes the proposals of it along",
		"wrote city = Bonn\nread city = Oslo\nwrote city = Oslo\nforget city = Oslo\nread city = Oslo => forgotten",
		"",
	},
	{"all is forgotten", "said city = Oslo\nsaid job = cook\nread dog = Rex\nforget all", ""},
	{"and not learned again", "said city = Oslo\nsaid job = cook\nforget all\nsaid job = cook => forgotten", ""},
	{"new facts after that", "said city = Oslo\nforget all\nsaid city = Bonn", "city=Bonn"},
	{"what was never known cannot be forgotten", "forget city = Oslo => missing", ""},

	// What tools and documents say.
	{"a poisoned tool only proposes", "read password policy = none => proposed", "?password policy=none"},
	{"a poisoned tool replaces nothing", "said bank account = 1\nread bank account = 666 => proposed", "?bank account=666; bank account=1"},
	{"nor what the user wrote", "wrote bank account = 1\nread bank account = 666 => proposed", "?bank account=666; bank account=1"},
	{"an accepted proposal is a fact", "read city = Oslo\naccept city = Oslo", "city=Oslo"},
	{
		"an accepted proposal is the user's word",
		"read city = Oslo\naccept city = Oslo\nsaid city = Bonn => proposed",
		"?city=Bonn; city=Oslo",
	},
	{"an accepted proposal replaces", "said city = Oslo\nread city = Bonn\naccept city = Bonn", "city=Bonn"},
	{"a rejected proposal", "read city = Oslo\nreject city = Oslo\nread city = Oslo => forgotten", ""},
	{"said by the user, a proposal is confirmed", "read city = Oslo\nsaid city = Oslo => remembered", "city=Oslo"},
	{"what a tool says is known already", "said city = Oslo\nread city = Oslo => known", "city=Oslo"},
	{"a corrected proposal", "read city = Oslo\ncorrect city = Bonn", "city=Bonn"},
	{"a tool repeats itself", "read city = Oslo\nread city = Oslo => proposed\nread city = oslo => proposed", "?city=Oslo"},
	{"a rejected fact cannot be accepted", "read city = Oslo\nreject city = Oslo\naccept city = Oslo => refused", ""},
	{"an active one cannot be rejected", "said city = Oslo\nreject city = Oslo => refused", "city=Oslo"},

	// Users, agents and settings.
	{"two users in one session", "said city = Oslo\nbob@said city = Bonn", "city=Oslo"},
	{
		"one user's forgetting is not the other's",
		"bob@said city = Oslo\nbob@forget city = Oslo\nsaid city = Oslo => remembered",
		"city=Oslo",
	},
	{"one user does not forget for the other", "said city = Oslo\nbob@forget city = Oslo => missing", "city=Oslo"},
	{"a fact for one agent is not another's", "helper/said city = Oslo", ""},
	{"and replaces only its own", "said city = Oslo\nhelper/said city = Bonn", "city=Oslo"},
	{"memory is off", "off\nsaid city = Oslo => off", ""},
	{"off keeps what there is, unused", "said city = Oslo\noff", ""},
	{"on again", "said city = Oslo\noff\non", "city=Oslo"},
	{"off is for one user", "bob@off\nsaid city = Oslo => remembered", "city=Oslo"},

	// Notes.
	{"a note", "wrote Ann likes tea", "Ann likes tea"},
	{"two notes", "wrote Ann likes tea\nwrote Ann likes coffee", "Ann likes coffee; Ann likes tea"},
	{"the same note", "wrote Ann likes tea\nwrote ann likes  tea", "Ann likes tea"},
	{"no value", "said city =  => invalid", ""},
}
