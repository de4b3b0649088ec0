// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {IScheduleService} from "../../src/interfaces/IScheduleService.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";

/// @notice What the contract asks of the schedule service, and what its oddest answers lead to.
contract SchedulingTest is AccessWindowTest {
    /// @dev 1,550,000 × 64 / 63 for the frame, and 60,000 to finish.
    uint256 private constant ARM_GAS = 1_634_603;
    address private constant SERVICE = address(0x16b);

    // ------------------------------------------------------------------------------------------------ requests

    function test_Schedule_AsksForTheEndOfTheWindowWithTheGasThatWasMeasured() external {
        uint64 second = uint64(START) + PERIOD;
        bytes memory renewal = abi.encodeCall(IAccessWindow.renew, (_slotAt(START), second));
        vm.expectCall(SERVICE, 0, 20_000, abi.encodeCall(IScheduleService.hasScheduleCapacity, (second, 1_824_603)), 1);
        vm.expectCall(
            SERVICE,
            0,
            1_550_000,
            abi.encodeCall(IScheduleService.scheduleCall, (address(access), second, 1_824_603, 0, renewal)),
            1
        );
        _open(2);
        assertEq(_slot().next, second, "the present second of an empty slot has nothing to book");
    }

    function test_Schedule_NeedsGasForTheCallAndToFinish() external {
        vm.prank(stranger);
        (bool isSuccess, bytes memory answer) =
            address(access).call{gas: 1_300_000, value: 2 * PRICE}(abi.encodeCall(IAccessWindow.open, (agent)));
        assertFalse(isSuccess);
        assertEq(answer.length, 68);
        uint256 gasLeft;
        uint256 gasNeeded;
        assembly ("memory-safe") {
            gasLeft := mload(add(answer, 36))
            gasNeeded := mload(add(answer, 68))
        }
        assertEq(gasNeeded, ARM_GAS);
        assertLt(gasLeft, 1_300_000);
        assertGt(gasLeft, 1_200_000);
    }

    function test_Schedule_ProbesNothingWithoutTheGasToSchedule() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectCall(SERVICE, abi.encodeWithSelector(IScheduleService.hasScheduleCapacity.selector), 0);
        vm.prank(forwarder);
        access.openPaid{gas: 400_000, value: 2 * PRICE}(purchase);
    }

    // ------------------------------------------------------------------------------------------------- probes

    function test_Probe_ThatIsNotAnsweredAsksForTheEndOfTheWindow() external {
        bytes memory probe = abi.encodeWithSelector(IScheduleService.hasScheduleCapacity.selector);
        vm.mockCallRevert(SERVICE, probe, abi.encode(uint256(0)));
        _open(2);
        assertEq(_window().scheduledAt, _window().expiresAt);
    }

    function test_Probe_ThatIsAnsweredInPartAsksForTheEndOfTheWindow() external {
        bytes memory probe = abi.encodeWithSelector(IScheduleService.hasScheduleCapacity.selector);
        vm.mockCall(SERVICE, probe, new bytes(31));
        _open(2);
        assertEq(_window().scheduledAt, _window().expiresAt);
    }

    function test_Probe_TakesAnyAnswerButZeroForRoom() external {
        bytes memory probe = abi.encodeWithSelector(IScheduleService.hasScheduleCapacity.selector);
        vm.mockCall(SERVICE, probe, abi.encode(uint256(2)));
        _open(2);
        assertEq(_window().scheduledAt, _window().expiresAt);
    }

    // ------------------------------------------------------------------------------------------------- answers

    function test_Answer_IsBelievedForAnAddressOfShard0Realm0Only() external {
        _assertArms(abi.encode(int256(22), uint256(type(uint40).max)), address(uint160(type(uint40).max)));
        _assertFails(abi.encode(int256(22), uint256(type(uint40).max) + 1), -1);
    }

    function test_Answer_ShorterThanItShouldBeIsAFailure() external {
        bytes memory answer = abi.encode(int256(22), uint256(1 << 39));
        assembly ("memory-safe") {
            mstore(answer, 63)
        }
        _assertFails(answer, -1);
    }

    function test_Answer_OfARevertIsAFailureWhateverItSays() external {
        bytes memory schedule = abi.encodeWithSelector(IScheduleService.scheduleCall.selector);
        vm.mockCallRevert(SERVICE, schedule, abi.encode(int256(22), uint256(1 << 39)));
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        _open(2);
    }

    function test_Answer_WithAnAddressAndACodeOtherThanSuccessIsTheCode() external {
        _assertFails(abi.encode(int256(210), uint256(1 << 39)), 210);
        _assertFails(abi.encode(int256(21), uint256(1 << 39)), 21);
        _assertFails(abi.encode(int256(23), uint256(1 << 39)), 23);
        _assertFails(abi.encode(int256(370), type(uint256).max), 370);
    }

    // ---------------------------------------------------------------------------- a purchase that arms nothing

    function test_OpenPaid_OpensWhateverTheScheduleServiceAnswers() external {
        int64[9] memory codes = [int64(210), 306, 307, 370, 373, 7, 16, 9_999, -5];
        for (uint256 i; i < codes.length; ++i) {
            address who = address(uint160(0x1000 + i));
            _configure({gasPerSecond: 0, createGas: 0, forcedCode: codes[i]});
            IAccessWindow.Purchase memory purchase = _purchase(who, 1);
            vm.expectEmit(address(access));
            emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, codes[i]);
            _openPaid(purchase, 2 * PRICE);
            assertTrue(_window(who).isOpen);
            assertEq(_window(who).schedule, address(0));
            assertEq(access.books().reserveTinybar, 100 * HBAR, "nothing is locked, nothing is lost");
            assertEq(access.books().lockedTinybar, 0);
        }
    }

    function test_OpenPaid_OpensWithStarvedGas() external {
        _configure({gasPerSecond: 0, createGas: 14_000_000, forcedCode: 0});
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        _openPaid(purchase, 2 * PRICE);
        assertTrue(_window().isOpen);
    }

    function test_OpenPaid_OpensWithAGasLimitThatCannotArm() external {
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, -1);
        vm.prank(forwarder);
        access.openPaid{gas: 400_000, value: 2 * PRICE}(purchase);
        assertTrue(_window().isOpen);
    }

    function test_OpenPaid_OpensWithoutAReserve() external {
        access = _deploy({reserve: 0});
        IAccessWindow.Purchase memory purchase = _purchase(agent, 1);
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, 0);
        _openPaid(purchase, 2 * PRICE);
        _passTo(_expiresAt() + 1);
        assertTrue(_window().isOpen, "the window goes on lazily");
    }

    // -------------------------------------------------------------------------------------------------- inside

    function _assertArms(bytes memory answer, address schedule) private {
        vm.mockCall(SERVICE, abi.encodeWithSelector(IScheduleService.scheduleCall.selector), answer);
        access = _deploy({reserve: 100 * HBAR});
        _open(2);
        assertEq(_slot(agent).schedule, schedule);
    }

    function _assertFails(bytes memory answer, int64 code) private {
        vm.mockCall(SERVICE, abi.encodeWithSelector(IScheduleService.scheduleCall.selector), answer);
        access = _deploy({reserve: 100 * HBAR});
        vm.expectEmit(address(access));
        emit IAccessWindowEvents.RenewalNotArmed(_slotAt(START), uint64(START) + PERIOD, code);
        _open(2);
        assertEq(_slot(agent).schedule, address(0));
    }
}
