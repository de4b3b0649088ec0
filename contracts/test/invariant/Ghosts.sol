// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {LeanTest} from "../LeanTest.sol";
import {Vm} from "forge-std/Vm.sol";
import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {IAccessWindowEvents} from "../../src/interfaces/IAccessWindowEvents.sol";
import {Slot, Slots} from "../../src/libraries/Slots.sol";
import {AccessWindowHarness} from "../AccessWindowHarness.sol";
import {ModelSubscription} from "./Model.sol";

/// @title What the random walk knows without asking the contract
/// @notice Sums of what came in, what was charged and what went out, the calls of each window net of what was given back,
/// and each agent's subscription as Model.sol has it. README.md beside this file gives the sums their letters. Of the
/// contract it asks only which seconds the network's call has booked: the one thing that no clock shows.
abstract contract Ghosts is LeanTest {
    AccessWindowHarness public access;
    /// @dev Gas that executions burned without booking it, since the books were last compared with the balance.
    uint256 public unbookedTinybar;
    uint256 public paidTinybar;
    uint256 public chargedTinybar;
    uint256 public cancelledTinybar;
    uint256 public claimedTinybar;
    uint256[] public slotIds;
    mapping(uint256 slotId => bool) private _isKnown;
    mapping(address agent => ModelSubscription model) internal _models;
    /// @notice End of the agent's first window since it opened, which alone may be longer than a period.
    mapping(address agent => uint256 second) public firstEnd;
    mapping(address agent => uint256 offerId) public offerOf;
    mapping(address agent => mapping(uint256 windowExpiresAt => uint256 calls)) public counted;

    function modelOf(address agent) external view returns (ModelSubscription memory) {
        return _models[agent];
    }

    function slotCount() external view returns (uint256) {
        return slotIds.length;
    }

    /// @dev What is due is due for the model too, whether or not the contract has booked it.
    function _pass(address agent, uint256 atSeconds) internal {
        ModelSubscription memory model = _models[agent];
        chargedTinybar += model.passTo(atSeconds);
        _models[agent] = model;
    }

    /// @dev A second that the network's call has booked has passed, though the clock is early.
    function _passBooked(address agent) internal {
        if (_models[agent].expiresAt <= block.timestamp) return;
        Slot memory slot = access.slot(_slotOf(agent));
        if (slot.next > block.timestamp + slot.periodOf()) _pass(agent, slot.next - slot.periodOf());
    }

    /// @param always periods that are funded however long they are
    /// @param isByAgent whether the agent itself buys
    function _buy(address agent, uint256 value, IAccessWindow.Offer memory offer, uint256 always, bool isByAgent)
        internal
    {
        ModelSubscription storage model = _models[agent];
        paidTinybar += value;
        bool isNew = !model.exists || model.expiresAt <= block.timestamp;
        if (isNew && !isByAgent && model.isWorse(offer)) {
            cancelledTinybar += model.waitingTinybar;
            model.waitingTinybar = 0;
        }
        model.waitingTinybar += value;
        model.exists = true;
        model.isCancelled = false;
        if (isNew) _openWindow(agent, offer);
        if (isNew || access.offerAt(uint32(offerOf[agent])).retiredAt == 0) _fund(agent, always);
    }

    /// @dev What is funded in a second that was booked is charged at once.
    function _fund(address agent, uint256 always) internal {
        ModelSubscription memory model = _models[agent];
        model.fund(block.timestamp, always);
        _models[agent] = model;
        _passBooked(agent);
    }

    function _openWindow(address agent, IAccessWindow.Offer memory offer) private {
        ModelSubscription storage model = _models[agent];
        offerOf[agent] = access.stored(agent).offerId;
        uint256 end = block.timestamp + offer.periodSeconds;
        while ((end + uint160(address(access))) % offer.slotSeconds != 0) ++end;
        firstEnd[agent] = end;
        model.expiresAt = end;
        model.periodSeconds = offer.periodSeconds;
        model.priceTinybar = offer.priceTinybar;
        model.callsAllowed = offer.callsAllowed;
        model.waitingTinybar -= offer.priceTinybar;
        chargedTinybar += offer.priceTinybar;
    }

    function _slotOf(address agent) internal view returns (uint256) {
        return Slots.idOf(_models[agent].periodSeconds, _models[agent].expiresAt);
    }

    function _count(address agent, uint256 windowExpiresAt, int256 calls) internal {
        int256 sum = int256(counted[agent][windowExpiresAt]) + calls;
        counted[agent][windowExpiresAt] = sum < 0 ? 0 : uint256(sum);
    }

    function _noteSlot(uint256 slotId) internal {
        if (slotId == 0 || _isKnown[slotId]) return;
        _isKnown[slotId] = true;
        slotIds.push(slotId);
    }

    /// @dev Whether the contract reported calls as counted since `vm.recordLogs`.
    function _hasRecorded() internal returns (bool) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].topics[0] == IAccessWindowEvents.UsageRecorded.selector) return true;
        }
        return false;
    }
}
