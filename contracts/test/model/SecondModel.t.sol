// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessWindow} from "../../src/interfaces/IAccessWindow.sol";
import {Slot} from "../../src/libraries/Slots.sol";
import {AccessWindowTest} from "../AccessWindowTest.sol";
import {NaiveAgent, NaiveBooks, NaiveOffer} from "./NaiveBooks.sol";

/// @notice The contract, which renews a slot in one step, against a model that renews agent by agent and second by second:
/// the same windows, balances, quotas, refunds and earnings at every second of a random history.
contract SecondModelTest is AccessWindowTest {
    uint256 private constant AGENTS = 5;
    uint256 private constant SECONDS = 45;

    NaiveBooks private model;
    uint256 private random;
    uint256[] private slotIds;
    /// @dev Whether the network calls when it should, or not at all.
    bool private isPunctual;

    function setUp() public override {
        lagSeconds = 0;
        super.setUp();
    }

    /// forge-config: default.fuzz.runs = 100
    /// forge-config: long.fuzz.runs = 10000
    function testFuzz_I12_EverySecondOfEveryHistoryIsAsTheNaiveModelHasIt(uint256 seed) external {
        random = seed;
        access = _deploy({reserve: 1_000_000 * HBAR});
        model = new NaiveBooks(AGENTS, uint160(address(access)));
        _armAlways();
        _setTerms();
        isPunctual = _draw(3) != 0;
        for (uint256 second = START; second < START + SECONDS; ++second) {
            _passSecond(second);
            _compare();
            uint256 actions = _draw(3);
            for (uint256 i; i < actions; ++i) {
                _act(_draw(AGENTS));
            }
            if (actions != 0) _compare();
        }
        _passSecond(block.timestamp + 200);
        _bookAll();
        _compareBooks();
        _assertSolvent();
    }

    // ------------------------------------------------------------------------------------------------- history

    function _passSecond(uint256 second) private {
        for (uint256 at = block.timestamp + 1; at <= second; ++at) {
            model.tick(at);
        }
        if (isPunctual) _passTo(second);
        else _stallTo(second);
    }

    function _act(uint256 who) private {
        uint256 action = _draw(16);
        if (action < 4) _buy(who, action % 2 == 0);
        else if (action < 7) _topUpSome(who);
        else if (action < 9) _cancelOrClaim(who);
        else if (action < 13) _countSome(who);
        else if (action == 13) _poke(who, _draw(2) == 0);
        else if (action == 14) _bookAll();
        else if (_draw(3) == 0) _retire(uint32(_draw(access.offerCount())));
        else _setTerms();
        _newTransaction();
    }

    function _setTerms() private {
        uint32[4] memory periods = [uint32(10), 12, 12, 15];
        uint32[4] memory slots = [uint32(5), 1, 12, 5];
        uint256 which = _draw(4);
        vm.prank(owner);
        access.setOffer(uint64((1 + _draw(3)) * PRICE_MIN), periods[which], uint32(1 + _draw(5)), slots[which]);
    }

    function _buy(uint256 who, bool isPaid) private {
        NaiveOffer memory offer = _currentOffer();
        bool isPinnedRetired = model.isOpen(who) && _isRetired(model.agentOf(who).offerId);
        if (!isPaid && (offer.isRetired || isPinnedRetired)) return;
        uint256 value = offer.priceTinybar * (1 + _draw(4));
        bool isByAgent = !isPaid && _draw(2) == 0;
        if (isPaid) _openPaid(_purchase(_who(who), 1), value);
        else _openAs(isByAgent ? _who(who) : stranger, who, value);
        model.buy(who, value, offer, isPinnedRetired, isByAgent);
        if (isPaid) model.count(who, 1, false);
        _note(_slotId(_who(who)));
    }

    function _openAs(address payer, uint256 who, uint256 value) private {
        vm.deal(payer, 1_000_000 * HBAR);
        _open(payer, _who(who), value);
    }

    function _poke(uint256 who, bool isByAgent) private {
        NaiveAgent memory agent = model.agentOf(who);
        NaiveOffer memory offer = _currentOffer();
        bool isSold = !offer.isRetired && !(model.isOpen(who) && _isRetired(agent.offerId));
        vm.prank(isByAgent ? _who(who) : stranger);
        access.poke(_who(who));
        model.poke(who, offer, isSold, isByAgent);
        if (agent.exists) _note(_slotId(_who(who)));
    }

    function _currentOffer() private view returns (NaiveOffer memory) {
        (uint32 id, IAccessWindow.Offer memory offer) = access.currentOffer();
        return NaiveOffer(
            id, offer.priceTinybar, offer.periodSeconds, offer.callsAllowed, offer.slotSeconds, offer.retiredAt != 0
        );
    }

    function _isRetired(uint256 offerId) private view returns (bool) {
        return access.offerAt(uint32(offerId)).retiredAt != 0;
    }

    function _topUpSome(uint256 who) private {
        NaiveAgent memory agent = model.agentOf(who);
        if (!model.isOpen(who) || agent.isCancelled || _isRetired(agent.offerId)) return;
        uint256 value = (1 + _draw(5)) * PRICE_MIN;
        if (_draw(6) == 0) value *= 100_000; // more than the reach takes
        _topUp(stranger, _who(who), value);
        model.topUp(who, value);
    }

    function _cancelOrClaim(uint256 who) private {
        NaiveAgent memory agent = model.agentOf(who);
        if (agent.refundTinybar != 0) {
            vm.prank(_who(who));
            access.claimRefund(payable(_who(who)));
            model.claim(who);
        } else if (
            agent.exists && !agent.isCancelled && (agent.expiresAt > block.timestamp || model.balanceOf(who) > 0)
        ) {
            _cancel(_who(who));
            model.cancel(who);
        }
    }

    function _countSome(uint256 who) private {
        NaiveAgent memory agent = model.agentOf(who);
        if (!agent.exists || agent.expiresAt <= block.timestamp) return;
        bool isNext = _draw(2) == 0;
        int32 calls = int32(int256(_draw(6))) - 2;
        uint256 named = model.openEnd(who) + (isNext ? agent.periodSeconds : 0);
        _record(_who(who), calls, uint64(named));
        model.count(who, calls, isNext);
    }

    // --------------------------------------------------------------------------------------------- comparisons

    function _compare() private {
        for (uint256 who; who < AGENTS; ++who) {
            NaiveAgent memory agent = model.agentOf(who);
            IAccessWindow.Window memory window = access.windowOf(_who(who), uint64(block.timestamp));
            assertEq(window.exists, agent.exists);
            if (!agent.exists) continue;
            uint256 end = model.openEnd(who);
            assertEq(window.expiresAt, end, "end");
            assertEq(window.isOpen, block.timestamp < end, "open");
            assertEq(access.hasAccess(_who(who), uint64(block.timestamp)), block.timestamp < end, "access");
            assertEq(window.isCancelled, agent.isCancelled, "cancelled");
            assertEq(window.balanceTinybar, model.balanceOf(who), "balance");
            assertEq(window.periodsFunded, agent.periods, "funded");
            assertEq(window.callsUsed, model.used(who, end), "used");
            assertEq(access.refundOf(_who(who)), agent.refundTinybar, "refund");
        }
        if (isPunctual) {
            _bookAll(); // a renewal paid for after a later call was armed waits for that call
            _compareBooks();
        }
    }

    /// @dev What calls have charged ahead of their window is booked when it begins.
    function _compareBooks() private view {
        uint256 ahead;
        for (uint256 who; who < AGENTS; ++who) {
            NaiveAgent memory agent = model.agentOf(who);
            if (agent.exists && agent.startsAt > block.timestamp) ahead += agent.priceTinybar;
        }
        assertEq(access.books().earnedTinybar + ahead, model.earnedTinybar(), "earned");
        assertEq(access.books().depositsTinybar, model.depositsTinybar() + ahead, "deposits");
        assertEq(access.books().refundsTinybar, model.refundsTinybar(), "refunds");
    }

    function _bookAll() private {
        for (uint256 i; i < slotIds.length; ++i) {
            Slot memory slot = access.slot(slotIds[i]);
            if (slot.live == 0 || slot.next > block.timestamp) continue;
            access.renew(slot.id, 0);
            _newTransaction();
        }
    }

    function _note(uint256 slotId) private {
        for (uint256 i; i < slotIds.length; ++i) {
            if (slotIds[i] == slotId) return;
        }
        slotIds.push(slotId);
    }

    function _draw(uint256 below) private returns (uint256) {
        random = uint256(keccak256(abi.encode(random)));
        return random % below;
    }
}
