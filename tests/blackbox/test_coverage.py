"""Every behaviour of the contract has a test: one that bears its id, or one that is named here."""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
ELSEWHERE = {
    "p24": "overhead: measured by make bench, never a timed test",
    "p33": "informative only",
    "t23": "with t1",
}

# Where several share a test, as of noether-sandbox and of modules, it bears no id.
NAMED = {
    "p26": "test_without_a_command",
    "p27": "test_this_host_gives_what_the_tests_take_away test_no_cgroup_in_reach",
    "i21": "test_an_unknown_backend_is_named_with_the_choices",
    "i27": "test_the_trusted_places",
    "n1": "test_the_policy_comes_from_standard_input test_the_policy_comes_from_a_file_and_stdin_is_the_childs "
          "test_nothing_is_the_pure_default",
    "n2": "test_a_policy_that_is_too_long_or_wrong",
    "n3": "test_exit_statuses",
    "n4": "test_wrong_words_are_2_and_the_usage",
    "n5": "test_required_isolation_refuses_none",
    "n7": "test_recorded_invocations_of_agentspec",
    "n9": "test_i22_auto_with_nothing_is_refused test_a_host_without_isolation_auto_warns_and_runs_unless_it_is_required",
    "n10": "test_env_by_name_prefix_and_value",
    "m1": "test_without_a_sandbox_it_is_the_callers_own_world",
    "m2": "test_the_runner_is_found_beside_the_program_and_never_by_the_environment",
    "m3": "test_the_runner_flag",
    "m4": "test_the_runner_flag",
    "m5": "test_the_runner_flag",
    "m6": "test_timeouts",
    "m7": "test_a_module_that_hangs_is_ended_with_all_it_started",
    "m8": "test_the_environment_is_built_up_from_a_list",
    "m9": "test_the_environment_is_built_up_from_a_list",
    "m10": "test_credentials_do_not_cross_whatever_the_policy_says",
    "m11": "test_the_environment_is_built_up_from_a_list",
    "m12": "test_a_module_that_fails_says_so",
    "m13": "test_a_module_that_dies_by_a_signal",
    "m14": "test_what_is_not_exactly_one_json_value_is_refused",
    "m15": "test_what_cannot_be_started",
    "m16": "test_files_land_in_a_fresh_directory_that_is_gone",
    "m17": "test_files_land_in_a_fresh_directory_that_is_gone",
    "m18": "test_a_flood_is_ended_and_the_stream_named test_each_stream_has_a_limit_of_its_own",
    "m19": "test_any_json_value_goes_in_and_out",
    "m20": "test_the_root_is_found_by_option_variable_and_place",
    "m21": "test_a_root_that_cannot_be_read_is_named",
    "m22": "test_bad_ids test_good_ids",
    "m23": "test_no_variable_turns_the_sandbox_off",
    "m24": "test_the_exit_codes_of_apcore",
    "m25": "test_input_of_ten_mebibytes_and_one_byte_more test_input_that_is_no_json",
    "m26": "test_the_audit_log",
    "m27": "test_a_module_that_does_not_read_is_no_failure",
    "m28": "test_the_runner_flag",
    "m29": "test_an_unwritable_temporary_directory_is_no_matter",
}
NOT_OFFERED = {"n6": "the numbers of another program's", "n8": "optional", "n11": "optional"}


def names_of_tests():
    text = "\n".join(p.read_text() for p in HERE.glob("test_*.py"))
    return re.findall(r"^def (test_\w+)", text, re.M)


def test_every_behaviour_has_a_test():
    names = " ".join(names_of_tests())
    wanted = [f"p{n:02}" for n in range(1, 34)] + [f"i{n:02}" for n in range(1, 31)] + \
        [f"t{n}" for n in range(1, 33)] + [f"n{n}" for n in range(1, 12)] + [f"m{n}" for n in range(1, 30)]
    missing = [w for w in wanted if f"_{w}_" not in names and w not in {**ELSEWHERE, **NAMED, **NOT_OFFERED}]
    assert missing == []


def test_the_tests_that_are_named_are_there():
    assert {name for words in NAMED.values() for name in words.split()} - set(names_of_tests()) == set()
